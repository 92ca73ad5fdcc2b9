import { ProviderFailure } from '../../src/providers/failure.ts'
import { openTestDatabase } from '../open-database.ts'
import { newSecretKey, openGrantedAccount } from './granted-account.ts'
import { type EndpointOptions, openTokenEndpoint } from './token-endpoint.ts'

/** The events of an account to which nothing has happened since it was connected. */
export const CONNECTED = ['account.connected']

/** A database with an account whose tokens an endpoint of the test gives. */
export async function openTokenWorld(options: EndpointOptions = {}) {
  await using opened = new AsyncDisposableStack()
  const database = opened.use(await openTestDatabase())
  const endpoint = opened.use(await openTokenEndpoint(options))
  const secretKey = newSecretKey()
  const granted = await openGrantedAccount(database.db, secretKey, endpoint)
  opened.use(granted)
  const owned = opened.move()
  return { ...granted, database, endpoint, secretKey, [Symbol.asyncDispose]: () => owned.disposeAsync() }
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
