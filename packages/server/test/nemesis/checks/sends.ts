import type { OutboxState } from '../evidence.ts'
import { entriesOf } from '../history.ts'
import type { Check, Violation } from '../violation.ts'

const ENDS = new Set(['sent', 'failed', 'cancelled'])

/** I3: no entry of the outbox was accepted twice by the mail server. */
export const checkNoDoubleSend: Check = ({ end }) => {
  const counts = countAccepted(end.accepted)
  return end.outbox.flatMap(({ id, internetMessageId }) => {
    const count = counts.get(internetMessageId) ?? 0
    return count > 1 ? [broken('I3', `the server accepted the send ${id} ${count} times`)] : []
  })
}

/**
 * I4: every send that was answered with a success has an end, and the end is true: `sent` was accepted by the mail
 * server, and what failed for another reason than an unknown outcome was not.
 */
export const checkNoLostSend: Check = ({ history, end }) => {
  const counts = countAccepted(end.accepted)
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
  const unknown = [...counts.keys()].filter(messageId => !known.has(messageId))
  return [
    ...missing.map(id => broken('I4', `the send ${id} was accepted, and is not in the outbox`)),
    ...unknown.map(messageId => broken('I4', `the server accepted ${messageId}, which is not in the outbox`)),
    ...end.outbox.flatMap(entry => judge(entry, counts.get(entry.internetMessageId) ?? 0)),
  ]
}

/** Whether a request to this path sends a message. */
function isSend(path: string): boolean {
  return /\/(outbox|drafts\/[^/]+\/send)$/.test(path)
}

function accountOf(path: string): string {
  return /^\/v1\/accounts\/([^/]+)\//.exec(path)?.[1] ?? ''
}

function judge({ id, status, reason, isBusy, wasHandedOver }: OutboxState, accepted: number): Violation[] {
  if (!ENDS.has(status)) return [broken('I4', `the send ${id} is still ${status}`)]
  if (isBusy) return [broken('I4', `something is still to be done for the send ${id}`)]
  // No run loses a commit, so nothing has to be held that no process had begun to send.
  if (reason === 'outcome_unknown' && status === 'failed' && !wasHandedOver)
    return [broken('I4', `the outcome of the send ${id} is unknown, and it was never handed over`)]
  if (status === 'sent' && accepted === 0)
    return [broken('I4', `the send ${id} is sent, and the server never accepted it`)]
  const mayBeAccepted = status === 'sent' || reason === 'outcome_unknown'
  if (!mayBeAccepted && accepted > 0)
    return [broken('I4', `the send ${id} is ${status} (${reason}), and the server accepted it`)]
  return []
}

function countAccepted(accepted: ReadonlyArray<{ messageId: string }>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { messageId } of accepted) counts.set(messageId, (counts.get(messageId) ?? 0) + 1)
  return counts
}

function broken(invariant: 'I3' | 'I4', message: string): Violation {
  return { invariant, message }
}
