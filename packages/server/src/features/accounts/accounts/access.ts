import { isUuid } from '../../../kit/ids.ts'
import type { RequestContext } from '../../context.ts'
import type { Credential } from '../../tenancy/credentials/credential.ts'
import { refuse } from '../../refuse.ts'
import type { AccountRow, AccountView } from './account.ts'
import { findAccount, findAccountView } from './store.ts'

/**
 * The live account of the path, and the only way to get one. What the credential may not see, another tenant's and a
 * malformed id are refused like one that never existed: `account_not_found`.
 */
export async function requireAccount(context: RequestContext, accountId: string): Promise<AccountRow> {
  const id = requireReachable(context.credential, accountId)
  return (await findAccount(context.db, context.tenantId, id)) ?? refuse('account_not_found')
}

/** As `requireAccount`, with what it takes to show the account. */
export async function requireAccountView(context: RequestContext, accountId: string): Promise<AccountView> {
  const id = requireReachable(context.credential, accountId)
  return (await findAccountView(context.db, context.tenantId, id)) ?? refuse('account_not_found')
}

/** Refuses where the account's provider is needed and its state keeps us from it. */
export function requireConnectable({ status }: Pick<AccountRow, 'status'>): void {
  if (status === 'paused') refuse('account_paused')
  if (status === 'disabled') refuse('account_disabled')
  if (status === 'reauth_required') refuse('account_reauth_required')
}

/** The id in lower case, where the credential may name it. Says nothing of whether there is such an account. */
export function requireReachable(credential: Credential, accountId: string): string {
  const id = accountId.toLowerCase()
  const isReachable = credential.accountIds === null || credential.accountIds.includes(id)
  if (!isUuid(id) || !isReachable) refuse('account_not_found')
  return id
}
