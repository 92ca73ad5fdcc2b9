import type { OperationMeta } from '@waxwing/contract/operation.ts'
import { requireReachable } from '../features/accounts/accounts/access.ts'
import type { RequestContext } from '../features/context.ts'
import type { Identity } from '../features/tenancy/credentials/authenticate.ts'
import type { Credential } from '../features/tenancy/credentials/credential.ts'
import { refuse } from '../features/refuse.ts'
import { isUuid } from '../kit/ids.ts'
import { type IdempotencyKeys, type KeyedRequest, fingerprintOf } from './idempotency.ts'
import type { Arrival } from './operation-route.ts'

export type KeepAnswer = RequestContext['keepAnswer']

/** A POST with an Idempotency-Key, from whom may send it. */
interface KeyedPost {
  meta: OperationMeta
  arrival: Arrival
  identity: Identity
  /** The octets of the body, as they came; null where there are none. */
  body: Uint8Array | null
  /** The header, as it came. */
  key: string
}

/** 1 to 255 printable ASCII characters without spaces. Two headers arrive joined by a comma and a space. */
const KEY = /^[\x21-\x7e]{1,255}$/
const NO_BYTES = new Uint8Array()

/**
 * Answers a POST with the answer to the first request of its key, and runs it where there is none. `run` answers
 * whatever happens; it is given how the operation keeps its answer together with its effect.
 */
export async function answerOnce(
  keys: IdempotencyKeys,
  post: KeyedPost,
  run: (keepAnswer: KeepAnswer) => Promise<Response>,
): Promise<Response> {
  const { meta, arrival, identity, key } = post
  if (!KEY.test(key)) refuse('invalid_idempotency_key')
  const begun = await keys.begin(requestOf(post))
  if ('answer' in begun) {
    const { status, text, scopes, accountId } = begun.answer
    requireRights(identity, scopes, accountId)
    return new Response(text, { status, headers: { ...arrival.headers, 'idempotent-replayed': 'true' } })
  }
  const answer = await run((tx, body, scopes = []) =>
    begun.claim.keep(tx, meta.successStatus, JSON.stringify(body), [...new Set([meta.scope, ...scopes])]),
  )
  const text = await answer.text()
  await begun.claim.end(answer.status, text)
  return new Response(text, { status: answer.status, headers: answer.headers })
}

function requestOf({ meta, arrival, identity, body, key }: KeyedPost): KeyedRequest {
  const { request, params } = arrival
  return {
    tenantId: identity.tenantId,
    key,
    fingerprint: fingerprintOf(request.method, request.url, body ?? NO_BYTES),
    scopes: [meta.scope],
    accountId: accountOf(identity.credential, params['accountId']),
  }
}

/** The account of the path, if it is one. A bound key must not learn of other accounts' keys by using them. */
function accountOf(credential: Credential, accountId: string | undefined): string | null {
  if (accountId === undefined) return null
  if (credential.accountIds !== null) return requireReachable(credential, accountId)
  return isUuid(accountId) ? accountId.toLowerCase() : null
}

/** What was needed for the first answer is needed for its repetition, too, whatever has become of the route since. */
function requireRights({ credential }: Identity, scopes: readonly string[], accountId: string | null): void {
  if (!scopes.every(scope => credential.scopes.some(own => own === scope))) refuse('missing_scope')
  if (accountId !== null) requireReachable(credential, accountId)
}
