import type { Database } from '../../src/database/pool.ts'
import { ProviderFailure } from '../../src/providers/failure.ts'
import { openTestDatabase } from '../open-database.ts'
import { useTestDatabase } from '../use-database.ts'
import { newSecretKey, openGrantedAccount } from './granted-account.ts'
import { type EndpointOptions, openTokenEndpoint } from './token-endpoint.ts'

/** The events of an account to which nothing has happened since it was connected. */
export const CONNECTED = ['account.connected']

export interface TokenWorldOptions extends EndpointOptions {
  /** An existing database to use. It is not disposed with the world, which has a tenant of its own. */
  database?: Database
}

/** A database with an account whose tokens an endpoint of the test gives. */
export async function openTokenWorld({ database: given, ...options }: TokenWorldOptions = {}) {
  await using opened = new AsyncDisposableStack()
  const database = given ?? opened.use(await openTestDatabase())
  const endpoint = opened.use(await openTokenEndpoint(options))
  const secretKey = newSecretKey()
  const granted = await openGrantedAccount(database.db, secretKey, endpoint)
  opened.use(granted)
  const owned = opened.move()
  return { ...granted, database, endpoint, secretKey, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Opens worlds on one database for all tests of a file. Each world has a tenant and an endpoint of its own. */
export function useTokenWorlds() {
  const database = useTestDatabase()
  return { openWorld: (options?: EndpointOptions) => openTokenWorld({ database: database(), ...options }) }
}

/** The failure with which the work rejects. */
export async function failureOf(work: Promise<unknown>): Promise<ProviderFailure> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ProviderFailure)) throw new Error('No ProviderFailure', { cause: error })
  return error
}
