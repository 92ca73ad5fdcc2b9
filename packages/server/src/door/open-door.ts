import type { HostedSessionKind } from '@waxwing/contract/operation.ts'
import { createCursorCodec } from '../database/page.ts'
import type { Db } from '../database/pool.ts'
import { requireSealedValue } from '../database/sealed-value.ts'
import type { Waker } from '../database/wake.ts'
import type { HostedSessions } from '../wing/hosted-session.ts'
import { createLoneRows } from '../features/tenancy/audit-log/lone-rows.ts'
import { createAuthenticator } from '../features/tenancy/credentials/authenticate.ts'
import { CredentialEnds } from '../features/tenancy/credentials/credential-ends.ts'
import { FAILING_CLIENTS_MAX, createFailureBrake } from '../features/tenancy/credentials/failure-brake.ts'
import { ApiCalls } from '../features/tenancy/usage/api-calls.ts'
import type { Clock } from '../kit/clock.ts'
import type { KeyRing } from '../kit/key-ring.ts'
import type { Logger } from '../kit/log.ts'
import type { Limits } from '../limits/limits.ts'
import { createTenantShares } from '../limits/tenant-shares.ts'
import { createHostedWindows } from './hosted-sessions.ts'
import { createIdempotencyKeys } from './idempotency.ts'
import type { Door } from './open-operation.ts'

export interface DoorOptions {
  db: Db
  keyRing: KeyRing
  waker: Waker
  limits: Limits
  clock: Clock
  log: Logger
  hostedSessions: Partial<Record<HostedSessionKind, HostedSessions>>
  /** Closes what the door opens, after the last request. */
  opened: AsyncDisposableStack
  isStrict: boolean
}

/** Opens the door of this process. Calls are written to the database every few seconds. */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const { db, keyRing, waker, limits, clock, log, hostedSessions, opened, isStrict } = options
  const { openWindows, marks } = limits
  const sealedValue = (name: Parameters<typeof requireSealedValue>[2]) =>
    requireSealedValue(db, keyRing, name)
  return {
    db,
    cursors: createCursorCodec(await sealedValue('cursor_key'), clock),
    log,
    authenticator: createAuthenticator({ db, pepper: await sealedValue('credential_pepper'), clock }),
    brake: createFailureBrake({ windows: openWindows({ windowsMax: FAILING_CLIENTS_MAX }), marks, clock }),
    hostedSessions,
    hostedWindows: createHostedWindows(openWindows),
    apiCalls: opened.use(new ApiCalls({ db, clock, log })),
    calls: limits.calls,
    shares: createTenantShares(),
    credentialEnds: new CredentialEnds({ db, clock, log }),
    idempotencyKeys: createIdempotencyKeys({ db, answerKey: await sealedValue('answer_key'), log }),
    loneRows: createLoneRows(db),
    wake: waker.wake,
    isStrict,
  }
}
