import type { HostedSessionKind } from '@waxwing/contract/operation.ts'
import { createCursorCodec } from '../database/page.ts'
import type { Db } from '../database/pool.ts'
import { requireSealedValue } from '../database/sealed-value.ts'
import type { Waker } from '../database/wake.ts'
import type { HostedSessions } from '../features/hosted-session.ts'
import { createAuthenticator } from '../features/tenancy/credentials/authenticate.ts'
import { createFailureBrake } from '../features/tenancy/credentials/failure-brake.ts'
import type { Clock } from '../kit/clock.ts'
import type { KeyRing } from '../kit/key-ring.ts'
import type { Logger } from '../kit/log.ts'
import { createHostedWindows } from './hosted-sessions.ts'
import { createIdempotencyKeys } from './idempotency.ts'
import { createInFlight } from './in-flight.ts'
import { createMemoryWindows } from './memory-windows.ts'
import type { Door } from './open-operation.ts'

export interface DoorOptions {
  db: Db
  keyRing: KeyRing
  waker: Waker
  clock: Clock
  log: Logger
  hostedSessions: Partial<Record<HostedSessionKind, HostedSessions>>
  isStrict: boolean
}

/** Opens the door of this process. What it counts, it counts in memory. */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const { db, keyRing, waker, clock, log, hostedSessions, isStrict } = options
  const sealedValue = (name: Parameters<typeof requireSealedValue>[2]) =>
    requireSealedValue(db, keyRing, name)
  return {
    db,
    cursors: createCursorCodec(await sealedValue('cursor_key'), clock),
    log,
    authenticator: createAuthenticator({ db, pepper: await sealedValue('credential_pepper'), clock }),
    brake: createFailureBrake(clock),
    hostedSessions,
    hostedWindows: createHostedWindows(clock),
    windows: createMemoryWindows(clock),
    inFlight: createInFlight(),
    idempotencyKeys: createIdempotencyKeys({ db, answerKey: await sealedValue('answer_key'), log }),
    wake: waker.wake,
    isStrict,
  }
}
