import { type DoorOptions, openTestDoor } from './open-door.ts'
import { useTestDatabase } from './use-database.ts'

export type TestDoor = Awaited<ReturnType<typeof openTestDoor>>

/** Opens front doors on one database for all tests of a file. Each door has a tenant and a port of its own. */
export function useTestDoors() {
  const database = useTestDatabase()
  return { openDoor: (options?: DoorOptions) => openTestDoor({ database: database(), ...options }) }
}
