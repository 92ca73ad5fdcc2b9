import { inject } from 'vitest'
import { SUPERUSER } from '../src/database/embedded/cluster.ts'
import { openTestDatabase } from './open-database.ts'

/** Creates a database on the server of the test run, with the URL that an operator would use. */
export async function makeExternalDatabase(options: { migrated?: boolean } = {}) {
  const database = await openTestDatabase({ migrated: options.migrated ?? false })
  const { password, socketFolder } = inject('postgres')
  const name = 'url' in database.address ? '' : database.address.database
  const url = `postgres://${SUPERUSER}:${password}@localhost/${name}?host=${encodeURIComponent(socketFolder)}`
  return { url, database, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}
