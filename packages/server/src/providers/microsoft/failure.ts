import { z } from 'zod'
import type { ProviderFailure } from '../failure.ts'
import type { ProviderAnswer } from '../http/provider-calls.ts'
import { readJson } from '../oauth/read-json.ts'
import { busy, down, type Meaning, tokenFailure } from '../oauth/token-answer.ts'

const PROVIDER = 'Microsoft'

const errorAnswer = z.object({
  error: z.string().max(100),
  error_codes: z.array(z.number()).optional(),
  error_description: z.string().optional(),
})

const GRANT_REFUSED: Meaning = { kind: 'grant_refused', message: 'Microsoft no longer accepts the grant.' }
const OUR_APP: Meaning = {
  kind: 'misconfigured',
  reason: 'invalid_client',
  message: 'Microsoft refuses the OAuth app. Check its client id, and its secret or certificate.',
}
/** The assertion was made by this service just now, so a refusal of its times blames a clock. */
const OUR_CLOCK: Meaning = {
  kind: 'unavailable',
  message: 'The clock of this service differs from Microsoft’s by minutes. Tell the operator to set it.',
}
const NO_CONSENT: Meaning = {
  kind: 'scope_missing',
  message: 'The user, or an administrator, has not granted a permission that is needed.',
}
const CLOSED: Meaning = {
  kind: 'mailbox_gone',
  reason: 'provider_forbidden',
  message: 'The organization of the mailbox does not allow this OAuth app.',
}
const OTHER_CLOUD: Meaning = {
  kind: 'rejected',
  message: 'The user belongs to another of Microsoft’s clouds than the OAuth app. Name it in microsoftCloud.',
}
const REJECTED: Meaning = { kind: 'rejected', message: 'Microsoft refuses to issue a token.' }

/**
 * Meanings of AADSTS codes, which are more exact than the error of OAuth beside them
 * (learn.microsoft.com/entra/identity-platform/reference-error-codes).
 */
const BY_CODE: ReadonlyMap<number, Meaning> = new Map([
  // The redirect URI is another one than the code was asked with.
  ...of([50011, 500112], REJECTED),
  // Password changed, token expired or unused for too long, further proof demanded by a policy.
  ...of([50173, 700082, 70008, 700084, 70043, 50076, 50078, 50079, 53003], GRANT_REFUSED),
  ...of([700016, 7000112, 7000215, 7000222, 700021, 700023, 700027, 700030], OUR_APP),
  ...of([700024], OUR_CLOCK),
  ...of([65001, 65004, 90093, 90094, 90095, 900941, 900981], NO_CONSENT),
  ...of([50105], CLOSED),
  // A client that asks in a loop is refused for some minutes.
  ...of([50196, 90055], busy(PROVIDER)),
  // The directory is away for a moment, or was too slow.
  ...of([90012, 90024, 90033, 90090, 90091], down(PROVIDER)),
  ...of([90038, 900382, 900432], OTHER_CLOUD),
])

/** Meanings of the errors of OAuth (RFC 6749 section 5.2, OpenID Connect Core section 3.1.2.6). */
const BY_ERROR: ReadonlyMap<string, Meaning> = new Map([
  ['invalid_grant', GRANT_REFUSED],
  ['interaction_required', GRANT_REFUSED],
  ['login_required', GRANT_REFUSED],
  ['consent_required', NO_CONSENT],
  ['invalid_client', OUR_APP],
  ['unauthorized_client', OUR_APP],
  ['temporarily_unavailable', down(PROVIDER)],
  ['server_error', down(PROVIDER)],
  ['slow_down', busy(PROVIDER)],
])

function of(codes: readonly number[], meaning: Meaning): Array<readonly [number, Meaning]> {
  return codes.map(code => [code, meaning] as const)
}

/** The failure for an answer of the token endpoint that is not a success. */
export function tokenEndpointFailure(answer: ProviderAnswer): ProviderFailure {
  return tokenFailure(answer, PROVIDER, refused => {
    const { data } = errorAnswer.safeParse(readJson(refused))
    if (!data) return undefined
    const codes = data.error_codes ?? codesIn(data.error_description ?? '')
    for (const code of codes) {
      const meaning = BY_CODE.get(code)
      if (meaning) return meaning
    }
    return BY_ERROR.get(data.error)
  })
}

/** The codes that a description begins with, as `AADSTS70008: …`. */
export function codesIn(description: string): number[] {
  return [...description.slice(0, 1_000).matchAll(/AADSTS(\d{4,9})/g)].map(([, code]) => Number(code))
}
