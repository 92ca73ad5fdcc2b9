import type { AcceptedMessage, OutboxState } from '../evidence.ts'
import { entriesOf } from '../history.ts'
import type { Check, Violation } from '../violation.ts'

const ENDS = new Set(['sent', 'failed', 'cancelled'])

/** I3: no entry of the outbox was accepted twice by a provider. */
export const checkNoDoubleSend: Check = ({ end }) => {
  const accepted = groupAccepted(end.accepted)
  return end.outbox.flatMap(({ id, internetMessageId }) => {
    const providers = accepted.get(internetMessageId) ?? []
    if (providers.length <= 1) return []
    const names = [...new Set(providers)].join(' and ')
    return [broken('I3', `${names} accepted the send ${id} ${providers.length} times`)]
  })
}

/**
 * I4: every send that was answered with a success has an end, and the end is true: `sent` was accepted by the
 * provider, and what failed for another reason than an unknown outcome was not.
 */
export const checkNoLostSend: Check = ({ history, end }) => {
  const accepted = groupAccepted(end.accepted)
  const entries = new Map(end.outbox.map(entry => [entry.id, entry]))
  const kept = new Set(end.mailboxes.map(({ accountId }) => accountId))
  const promised = new Set(
    entriesOf(history, 'request')
      .filter(({ outcome, path, method }) => outcome === 'ok' && method === 'POST' && isSend(path))
      .filter(({ path }) => kept.has(accountOf(path)))
      .flatMap(({ madeId }) => madeId ?? []),
  )
  const missing = [...promised].filter(id => !entries.has(id))
  const known = new Set(end.outbox.map(({ internetMessageId }) => internetMessageId))
  const unknown = end.accepted.filter(({ messageId }) => !known.has(messageId))
  return [
    ...missing.map(id => broken('I4', `the send ${id} was accepted, and is not in the outbox`)),
    ...unknown.map(({ messageId, by }) =>
      broken('I4', `${by} accepted ${messageId}, which is not in the outbox`),
    ),
    ...end.outbox.flatMap(entry => judge(entry, accepted.get(entry.internetMessageId) ?? [])),
  ]
}

/** Whether a request to this path sends a message. */
function isSend(path: string): boolean {
  return /\/(outbox|drafts\/[^/]+\/send)$/.test(path)
}

function accountOf(path: string): string {
  return /^\/v1\/accounts\/([^/]+)\//.exec(path)?.[1] ?? ''
}

function judge({ id, status, reason, isBusy, wasHandedOver }: OutboxState, accepted: Accepted): Violation[] {
  if (!ENDS.has(status)) return [broken('I4', `the send ${id} is still ${status}`)]
  if (isBusy) return [broken('I4', `something is still to be done for the send ${id}`)]
  // No run loses a commit, so nothing has to be held that no process had begun to send.
  if (reason === 'outcome_unknown' && status === 'failed' && !wasHandedOver)
    return [broken('I4', `the outcome of the send ${id} is unknown, and it was never handed over`)]
  if (status === 'sent' && accepted.length === 0)
    return [broken('I4', `the send ${id} is sent, and no provider accepted it`)]
  const mayBeAccepted = status === 'sent' || reason === 'outcome_unknown'
  if (!mayBeAccepted && accepted.length > 0)
    return [broken('I4', `the send ${id} is ${status} (${reason}), and ${accepted[0]} accepted it`)]
  return []
}

/** The providers that accepted a message, once for each time. */
type Accepted = ReadonlyArray<AcceptedMessage['by']>

/** The providers that accepted each message, by its Message-ID. */
function groupAccepted(accepted: readonly AcceptedMessage[]): Map<string, Accepted> {
  const groups = Map.groupBy(accepted, ({ messageId }) => messageId)
  return new Map([...groups].map(([messageId, messages]) => [messageId, messages.map(({ by }) => by)]))
}

function broken(invariant: 'I3' | 'I4', message: string): Violation {
  return { invariant, message }
}
