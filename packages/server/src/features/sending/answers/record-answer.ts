import { GLOBAL_LIST } from '@waxwing/contract/sending/suppressions.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { recordClassification } from '../../mail/messages/record-classification.ts'
import type { FullRow } from '../../mail/messages/store.ts'
import { bouncedOf, complainantsOf } from '../bounces/recipients.ts'
import { recordBounces } from '../bounces/record-bounces.ts'
import { findNamedSends, type SendFacts } from '../bounces/store.ts'
import { type Verdict, verdictOf } from '../classification/rules.ts'
import { type NewReview, recordReviews } from '../suppressions/record-reviews.ts'
import { type NewSuppression, recordSuppressed } from '../suppressions/record-suppressed.ts'
import type { AnswerContent } from './read-answer.ts'

/** With `optOutHandling` `suppress`, a reply is believed from this probability on; a review is queued below. */
const SUPPRESSED_PROBABILITY = 0.9

/** A message that was read. */
export interface ReadAnswer {
  account: AccountView
  message: FullRow
  content: AnswerContent
}

/** The result of looking at a message, for metrics. */
export interface AnswerResult {
  bounces: { hard: number; soft: number }
  complaints: number
  classified: Verdict['kind'] | null
}

/** Findings about a message, before they are written. */
interface Finding {
  verdict: Verdict | null
  /** The send that it answers. */
  send: SendFacts | null
  suppressions: NewSuppression[]
  reviews: NewReview[]
  bounces: AnswerResult['bounces']
}

/**
 * Records the findings of an answer: recipients that were not reached, complaints, and the kind of a reply. A report
 * counts only for a send of this account that it names, and for recipients to whom that was sent.
 */
export async function recordAnswer(unit: UnitOfWork, answer: ReadAnswer): Promise<AnswerResult> {
  const { account, message } = answer
  const found =
    (await recordReport(unit, answer)) ??
    (await findComplaint(unit, answer)) ??
    (await findReply(unit, answer)) ??
    NOTHING
  const { verdict, send, suppressions, reviews, bounces } = found
  const isClassified =
    verdict !== null &&
    (await recordClassification(
      unit,
      { accountId: account.id, messageId: message.id },
      {
        ...verdict,
        outboxId: send?.outboxId ?? null,
        model: 'rules',
        classifiedAt: new Date().toISOString(),
      },
    ))
  if (reviews.length > 0) await recordReviews(unit, reviews)
  if (suppressions.length > 0) await recordSuppressed(unit, suppressions)
  return {
    bounces,
    complaints: suppressions.filter(({ source }) => source === 'complaint').length,
    classified: isClassified ? verdict.kind : null,
  }
}

const NOTHING: Finding = {
  verdict: null,
  send: null,
  suppressions: [],
  reviews: [],
  bounces: { hard: 0, soft: 0 },
}

/** Null if it is no report about a send, or about none of its recipients. It may be a complaint or a reply then. */
async function recordReport(
  unit: UnitOfWork,
  { account, message, content: { report } }: ReadAnswer,
): Promise<Finding | null> {
  if (!report) return null
  const sends = await findNamedSends(unit, account.id, report, message.answered_outbox_id)
  const [send] = sends
  if (!send) return null
  // A delay, or a report that was delivered: it is automatic, and no bounce.
  if (report.failed.length === 0)
    return { ...NOTHING, send, verdict: { ...verdictOf('auto_reply'), autoReplyCategory: 'other' } }
  for (const named of sends) {
    const recipients = bouncedOf(report, named)
    if (recipients.length === 0) continue
    const { suppressions, counts } = await recordBounces(unit, [{ send: named, recipients }])
    return { ...NOTHING, send: named, verdict: verdictOf('bounce'), suppressions, bounces: counts }
  }
  return null
}

async function findComplaint(
  unit: UnitOfWork,
  { account, message, content: { complaint } }: ReadAnswer,
): Promise<Finding | null> {
  if (!complaint) return null
  const [send] = await findNamedSends(unit, account.id, complaint, message.answered_outbox_id)
  if (!send) return NOTHING
  return {
    ...NOTHING,
    send,
    suppressions: complainantsOf(complaint, send).map(address => ({
      listId: send.listId ?? GLOBAL_LIST,
      address,
      source: 'complaint',
      reason: `Complaint: ${complaint.kind}`,
      accountId: account.id,
      outboxId: send.outboxId,
    })),
  }
}

async function findReply(
  unit: UnitOfWork,
  { account, message, content: { reply } }: ReadAnswer,
): Promise<Finding | null> {
  if (!reply) return null
  const { named, verdict } = reply
  const author = message.from?.address ?? ''
  const sends = await findNamedSends(unit, account.id, named, message.answered_outbox_id)
  const send = sends.find(({ outboxId }) => outboxId === message.answered_outbox_id) ?? sends[0] ?? null
  const wasSentTo = send?.recipients.has(comparedAddress(author)) ?? false
  return {
    ...NOTHING,
    verdict,
    send,
    ...(send && wasSentTo ? planHandling(account, message, { send, author, verdict }) : {}),
  }
}

interface Author {
  send: SendFacts
  author: string
  verdict: Verdict
}

/** Plans the action that `optOutHandling` sets for the address of the author. */
function planHandling(
  account: AccountView,
  message: FullRow,
  { send, author, verdict }: Author,
): Partial<Pick<Finding, 'suppressions' | 'reviews'>> {
  const { optOutHandling } = account.tenant_settings
  if (optOutHandling === 'off') return {}
  const review = {
    address: comparedAddress(author),
    accountId: account.id,
    messageId: message.id,
    outboxId: send.outboxId,
    alternateContacts: verdict.alternateContacts,
  }
  if (verdict.autoReplyCategory === 'left_company')
    return { reviews: [{ ...review, listId: GLOBAL_LIST, source: 'inactive', probability: 1 }] }
  if (verdict.kind !== 'opt_out') return {}
  const listId = send.listId ?? GLOBAL_LIST
  const probability = verdict.optOutProbability
  if (optOutHandling === 'review' || probability < SUPPRESSED_PROBABILITY)
    return { reviews: [{ ...review, listId, source: 'reply', probability }] }
  const reason = 'Asked in a reply for no more mail.'
  return {
    suppressions: [
      {
        listId,
        address: review.address,
        source: 'reply',
        reason,
        accountId: account.id,
        outboxId: send.outboxId,
      },
    ],
  }
}
