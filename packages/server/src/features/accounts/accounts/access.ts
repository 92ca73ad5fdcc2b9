import { isUuid } from '../../../kit/ids.ts'
import type { RequestContext } from '../../../calls/context.ts'
import type { Credential } from '../../../calls/credential.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { AccountRow, AccountView } from '../../../accounts/row.ts'
import { findAccount, findAccountView } from '../../../accounts/store.ts'

/**
 * Returns the live account of the path; the only way to get one. An account that the credential may not see, one of
 * another tenant and a malformed id are refused like one that never existed: `account_not_found`.
 */
export async function requireAccount(context: RequestContext, accountId: string): Promise<AccountRow> {
  const id = requireReachable(context.credential, accountId)
  return (await findAccount(context.db, context.tenantId, id)) ?? refuse('account_not_found')
}

/** Like `requireAccount`, with everything needed to show the account. */
export async function requireAccountView(context: RequestContext, accountId: string): Promise<AccountView> {
  const id = requireReachable(context.credential, accountId)
  return (await findAccountView(context.db, context.tenantId, id)) ?? refuse('account_not_found')
}

/** Refuses if the account's state does not allow its provider to be used. */
export function requireConnectable({ status }: Pick<AccountRow, 'status'>): void {
  if (status === 'paused') refuse('account_paused')
  if (status === 'disabled') refuse('account_disabled')
  if (status === 'reauth_required') refuse('account_reauth_required')
}

/** Returns the id in lower case if the credential may name it. Does not check whether there is such an account. */
export function requireReachable(credential: Credential, accountId: string): string {
  if (!isReachable(credential, accountId)) refuse('account_not_found')
  return accountId.toLowerCase()
}

/** Whether the credential may name the account. */
export function isReachable({ accountIds }: Credential, accountId: string): boolean {
  return isUuid(accountId) && (accountIds === null || accountIds.includes(accountId.toLowerCase()))
}
