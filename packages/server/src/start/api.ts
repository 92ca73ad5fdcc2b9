import { createCursorCodec } from '../database/page.ts'
import { requireSealedValue } from '../database/sealed-value.ts'
import { accountKeys } from '../features/accounts/secrets.ts'
import type { Services } from '../features/context.ts'
import { createAuthenticator } from '../features/credentials/authenticate.ts'
import { createFailureBrake } from '../features/credentials/failure-brake.ts'
import { createApp } from '../http/app.ts'
import { listen } from '../http/listen.ts'
import { operations } from '../http/operations.ts'
import { observeRequests } from '../http/request-metrics.ts'
import { serverCheck } from '../providers/server-check.ts'
import type { Shared } from './roles.ts'

export interface Api extends AsyncDisposable {
  address: string
  /** Takes no new request and waits for those under way, at most so long. */
  close(seconds: number): Promise<void>
}

/** The role `api`: the public front door. */
export async function startApi(shared: Shared): Promise<Api> {
  const { config, installation, pepper, metrics, readiness, clock, isStrict } = shared
  const { db } = installation.database
  const app = createApp({
    db,
    services: await makeServices(shared),
    authenticator: createAuthenticator({ db, pepper, clock }),
    brake: createFailureBrake(clock),
    isStrict,
    operations,
    corsOrigins: config.corsOrigins,
    trustProxy: config.trustProxy,
    isReady: readiness.isReady,
    observe: observeRequests(metrics),
  })
  const listener = await listen(app, { host: config.host, port: config.port })
  let closing: Promise<void> | null = null
  const close = (seconds: number) => (closing ??= listener.close({ deadlineMilliseconds: seconds * 1000 }))
  return { address: listener.address, close, [Symbol.asyncDispose]: () => close(0) }
}

async function makeServices(shared: Shared): Promise<Services> {
  const { config, installation, pepper, guard, waker, clock, log, certificateAuthority } = shared
  const { database, keyRing } = installation
  return {
    cursors: createCursorCodec(await requireSealedValue(database.db, keyRing, 'cursor_key'), clock),
    accountKeys: accountKeys(keyRing),
    credentialPepper: pepper,
    servers: serverCheck({ guard, certificateAuthority }),
    wake: waker.wake,
    allowPlaintext: config.allowPlaintext,
    log,
  }
}
