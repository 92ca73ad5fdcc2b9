import type { OperationMeta } from '@waxwing/contract/operation.ts'
import { requireReachable } from '../features/accounts/accounts/access.ts'
import type { Identity } from '../features/tenancy/credentials/authenticate.ts'
import type { Credential } from '../calls/credential.ts'
import { type Refusal, refuse } from '../calls/refuse.ts'
import type { AnswerHeaders } from '../calls/context.ts'
import { isUuid } from '../kit/ids.ts'
import { ReadyPage } from '../kit/ready-page.ts'
import type { Answer, GivenKey } from './call.ts'
import { accountIn } from './commits.ts'
import type { Claim, IdempotencyKeys, KeyedRequest } from './idempotency.ts'
import { presentRefusal } from './refusals.ts'

/** A call with an idempotency key. The caller is authenticated and may make the call. */
interface KeyedCall {
  meta: OperationMeta
  identity: Identity
  /** The account id of the path, as given. */
  accountId: string | undefined
  key: GivenKey
}

/** The result of the handler. */
export interface Performed {
  output: unknown
  headers: AnswerHeaders
  /** The answer as `context.change` committed it under the claim, or null if it committed none. */
  keptText: string | null
}

/** Runs the operation and translates its failures. */
interface Run {
  perform(claim: Claim): Promise<Performed>
  /** Returns the refusal to answer, whose row is in the audit log by then. */
  refuse(error: unknown): Promise<Refusal>
}

/**
 * 1 to 255 printable ASCII characters without spaces. A header that is sent twice arrives joined by a comma and a
 * space, and so is refused.
 */
const KEY = /^[\x21-\x7e]{1,255}$/

/** Runs a call if its key is new; otherwise returns the first answer of the key. */
export async function answerOnce(keys: IdempotencyKeys, call: KeyedCall, run: Run): Promise<Answer> {
  if (!KEY.test(call.key.text)) refuse('invalid_idempotency_key')
  const begun = await keys.begin(requestOf(call))
  if ('answer' in begun) {
    const { status, text, headers, scopes, accountId } = begun.answer
    requireRights(call.identity, scopes, accountId)
    return { outcome: 'kept', status, text, headers, isReplayed: true }
  }
  const { claim } = begun
  try {
    const { output, headers, keptText } = await run.perform(claim)
    const answer = { status: call.meta.successStatus, text: keptText ?? textOf(output), headers }
    await claim.end(keptText === null ? { ...answer, aboutAccount: accountIn(call.meta, output) } : null)
    return { ...answer, outcome: 'kept', isReplayed: false }
  } catch (error) {
    const refusal = await run.refuse(error)
    const text = JSON.stringify(presentRefusal(refusal))
    await claim.end({ status: refusal.status, text, headers: {}, aboutAccount: null })
    return { outcome: 'refused', refusal }
  }
}

function textOf(output: unknown): string {
  return output instanceof ReadyPage ? output.toBytes().toString() : JSON.stringify(output)
}

function requestOf({ meta, identity, accountId, key }: KeyedCall): KeyedRequest {
  return {
    tenantId: identity.tenantId,
    key: key.text,
    fingerprint: key.fingerprint(),
    scopes: [meta.scope],
    accountId: accountOf(identity.credential, accountId),
  }
}

/**
 * The account id of the path if it is valid. Without it, a bound key could find out about other accounts' keys by using
 * them.
 */
function accountOf(credential: Credential, accountId: string | undefined): string | null {
  if (accountId === undefined) return null
  if (credential.accountIds !== null) return requireReachable(credential, accountId)
  return isUuid(accountId) ? accountId.toLowerCase() : null
}

/** Repeating an answer needs the same rights as the first answer did, even if the route has changed since. */
function requireRights({ credential }: Identity, scopes: readonly string[], accountId: string | null): void {
  if (!scopes.every(scope => credential.scopes.some(own => own === scope))) refuse('missing_scope')
  if (accountId !== null) requireReachable(credential, accountId)
}
