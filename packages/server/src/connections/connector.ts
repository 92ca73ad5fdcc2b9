import type { Db } from '../database/pool.ts'
import { stampOf } from '../accounts/reach.ts'
import { findAccountView } from '../accounts/store.ts'
import { ProviderFailure } from '../providers/failure.ts'
import type { ConnectorOf, EndpointOf } from './connections.ts'
import type { ReachedFor, Ways } from './kinds/kind.ts'
import type { Kinds } from './kinds/kinds.ts'

export interface ConnectorOptions {
  db: Db
  kinds: Kinds
  reachedFor: ReachedFor
}

/** A kind of data that the provider lacks stands apart. The connector refuses it. */
export function endpoints(kinds: Kinds): EndpointOf {
  return ({ provider, kind }) => kinds[provider]?.endpoints[kind] ?? kind
}

/** Finds the connectors by which accounts are read, or send. They reject with `account_deleted` if the account is gone. */
export function connectors({ db, kinds, reachedFor }: ConnectorOptions, way: keyof Ways): ConnectorOf {
  return ({ id, tenantId }, half) => {
    let ways: Ways | null = null
    return async () => {
      const account = await findAccountView(db, tenantId, id)
      if (!account) throw new ProviderFailure('account_deleted', 'The account was deleted.')
      const kind = kinds[account.provider]
      if (!kind)
        throw new ProviderFailure('unsupported', `accounts of ${account.provider} cannot be followed`)
      const version = half in kind.endpoints ? stampOf(account, half) : null
      if (version === null)
        throw new ProviderFailure('unsupported', `The provider of this account offers no ${half}.`)
      ways ??= kind.waysTo({ id, tenantId }, reachedFor)
      return { ...ways[way](account, half), version }
    }
  }
}
