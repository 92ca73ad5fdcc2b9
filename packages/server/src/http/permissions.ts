import type { OperationMeta } from '@waxwing/contract/operation.ts'
import type { Reason } from '@waxwing/contract/reasons.ts'
import type { Credential } from '../features/tenancy/credentials/credential.ts'

type Rules = Pick<OperationMeta, 'method' | 'path' | 'scope' | 'section'>

const ACCOUNT_PATH = '/v1/accounts/{accountId}'
/** What an account token is for: mail, drafts, outbox, calendar and contacts of its account. */
const ACCOUNT_TOKEN_SECTIONS = new Set(['4.3', '4.4', '4.7', '4.8', '4.10'])
/** Tenant-wide paths that answer a bound key with its own accounts only. */
const NARROWED_FOR_BOUND_KEYS = new Set(['GET /v1/accounts', 'GET /v1/changes'])

/**
 * Why a credential may not call an operation; null where it may. Credential kind comes before scope, and scope before
 * what the key is bound to. Whether a bound key may see the account of the path is told by `requireAccount`, as a 404.
 */
export function whyForbidden(
  operation: Rules,
  credential: Credential,
  accountId: string | undefined,
): Reason | null {
  if (credential.kind === 'account_token' && !isForAccountToken(operation, credential, accountId)) {
    return 'account_token_forbidden'
  }
  if (operation.scope !== 'none' && !credential.scopes.includes(operation.scope)) return 'missing_scope'
  if (credential.kind === 'api_key' && credential.accountIds !== null && isTenantWide(operation)) {
    return 'account_scope_forbidden'
  }
  return null
}

function isForAccountToken(
  { method, path, section }: Rules,
  credential: Credential,
  accountId: string | undefined,
): boolean {
  if (accountId === undefined || !credential.accountIds?.includes(accountId.toLowerCase())) return false
  if (path === ACCOUNT_PATH) return method === 'GET'
  if (!path.startsWith(`${ACCOUNT_PATH}/`)) return false
  return ACCOUNT_TOKEN_SECTIONS.has(section) || path === `${ACCOUNT_PATH}/ai/draft-texts`
}

function isTenantWide({ method, path }: Rules): boolean {
  if (path === ACCOUNT_PATH || path.startsWith(`${ACCOUNT_PATH}/`)) return false
  return !NARROWED_FOR_BOUND_KEYS.has(`${method} ${path}`)
}
