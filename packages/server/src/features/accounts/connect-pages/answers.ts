import { PUBLIC_PAGE_POLICY, sourceHash } from '../../../pages/public-page.ts'
import type { PublicAnswer } from '../../../pages/public-route.ts'
import type { FlowEnd } from '../connect-sessions/flow-parts.ts'
import type { Refusal } from '../../../calls/refuse.ts'
import { approvedPage, notApprovedPage, unapprovedPage } from './approval-pages.ts'
import { invalidReturnPage } from './ended-page.ts'
import { SCRIPT } from './page-script.ts'

/** There is no `form-action`: browsers apply it to redirects of the answer too, such as that to a provider. */
const FORM_POLICY = [
  PUBLIC_PAGE_POLICY,
  `script-src ${sourceHash(SCRIPT)}`,
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** A page without a form. Its links send no referrer, so their targets do not learn its address. */
export function answerPage(status: number, body: string): PublicAnswer {
  return { status, body }
}

/** A page with a form. With `no-referrer`, Chromium would post it with `Origin: null`. */
export function answerForm(status: number, body: string): PublicAnswer {
  return {
    status,
    body,
    headers: { 'content-security-policy': FORM_POLICY, 'referrer-policy': 'same-origin' },
  }
}

/** The form again, with the reason of the refusal. */
export function answerRefused({ reason, retryAfterSeconds }: Refusal, body: string): PublicAnswer {
  const answer = answerForm(reason === 'rate_limited' ? 429 : 422, body)
  if (retryAfterSeconds === undefined) return answer
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfterSeconds) } }
}

/** Sends the browser on by GET, and leaves the address of this request out of its history. */
export function redirect(location: string, headers: Readonly<Record<string, string>> = {}): PublicAnswer {
  return { status: 303, headers: { ...headers, location }, body: null }
}

/**
 * Sends the browser to the URL at the end of a flow, or shows a page in its place. A return that belongs to no flow gets
 * its page without the headers.
 */
export function answerEnd(end: FlowEnd, headers: Readonly<Record<string, string>> = {}): PublicAnswer {
  switch (end.outcome) {
    case 'returned':
      return redirect(end.url, headers)
    case 'unapproved':
      return { ...answerPage(200, unapprovedPage(end)), headers }
    case 'approved':
      return answerPage(200, approvedPage())
    case 'not_approved':
      return answerPage(200, notApprovedPage())
    case 'invalid':
      return answerPage(400, invalidReturnPage())
  }
}
