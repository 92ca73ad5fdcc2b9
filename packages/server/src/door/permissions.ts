import type { OperationMeta } from '@waxwing/contract/operation.ts'
import type { Credential } from '../calls/credential.ts'
import { Refusal } from '../calls/refuse.ts'

type Rules = Pick<OperationMeta, 'method' | 'path' | 'scope' | 'session' | 'accountToken'>

const ACCOUNT_PATH = '/v1/accounts/{accountId}'
/** Tenant-wide paths at which a bound key gets only its own accounts. */
const NARROWED_FOR_BOUND_KEYS = new Set(['GET /v1/accounts', 'GET /v1/changes', 'GET /v1/changes/stream'])

/** Finds the refusal of a credential that may not call an operation; null if it may. */
export function findForbidden(
  operation: Rules,
  credential: Credential,
  accountId: string | undefined,
): Refusal | null {
  const reason = whyForbidden(operation, credential, accountId)
  if (reason === null) return null
  // Naming the missing scope reveals nothing: it is in the OpenAPI document.
  const message = `This needs the scope ${operation.scope}, and the credential has ${credential.scopes.join(', ')}.`
  return new Refusal(reason, undefined, reason === 'missing_scope' ? { message } : {})
}

/**
 * Returns why a credential may not call an operation, or null if it may. The kind of credential is checked first, then
 * its scope, then the accounts it is bound to. Whether a bound key may see the account of the path is checked by
 * `requireAccount`, which answers 404.
 */
function whyForbidden(operation: Rules, credential: Credential, accountId: string | undefined) {
  // The session of a hosted operation was found for this operation.
  if (operation.session !== null) return null
  if (credential.kind === 'account_token' && !isForAccountToken(operation, credential, accountId)) {
    return 'account_token_forbidden'
  }
  if (operation.scope === 'none' || !credential.scopes.includes(operation.scope)) return 'missing_scope'
  if (credential.kind === 'api_key' && credential.accountIds !== null && isTenantWide(operation)) {
    return 'account_scope_forbidden'
  }
  return null
}

function isForAccountToken(
  { accountToken }: Rules,
  credential: Credential,
  accountId: string | undefined,
): boolean {
  if (accountId === undefined || !credential.accountIds?.includes(accountId.toLowerCase())) return false
  return accountToken
}

function isTenantWide({ method, path }: Rules): boolean {
  if (path === ACCOUNT_PATH || path.startsWith(`${ACCOUNT_PATH}/`)) return false
  return !NARROWED_FOR_BOUND_KEYS.has(`${method} ${path}`)
}
