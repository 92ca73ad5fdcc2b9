import {
  sampleBody,
  sampleEvent,
  type SampleEvidence,
  sampleMessage,
  samplePage,
  sampleRequest,
  sampleSession,
  sampleStop,
  sampleWebhook,
} from './sample-evidence.ts'
import type { Invariant } from './violation.ts'

/** One broken promise each, with its report. */
export type PlantedFault = [Invariant, string, (evidence: SampleEvidence) => void, RegExp]

export const PLANTED: PlantedFault[] = [
  [
    'I1',
    'an event that a reader missed',
    ({ history }) => void removePage(history, 'poller', '3'),
    /poller was never given event 3/,
  ],
  [
    'I1',
    'an event that was read twice',
    ({ history }) => void history.push(samplePage('poller', ['7'])),
    /event 7 after 7/,
  ],
  ['I1', 'ids that go back', ({ history }) => void swapPage(history), /poller has event 1 after 2/],
  [
    'I1',
    'an event that was rolled back',
    ({ history }) => void history.push(samplePage('poller', ['8'])),
    /event 8, never committed/,
  ],
  [
    'I1',
    'an event that the feed lacks afterwards',
    ({ end }) => void end.feed.splice(0, 1),
    /the feed from its beginning was never given event 1/,
  ],
  [
    'I2',
    'an event that an endpoint never got',
    ({ history }) => void removeWebhook(history, '3'),
    /e1 never got event 3/,
  ],
  [
    'I2',
    'an event that was only refused, and does not wait',
    ({ history }) => refuseWebhook(history, '3'),
    /e1 never got event 3/,
  ],
  [
    'I2',
    'an attempt with another body',
    ({ history }) => void history.push(sampleWebhook('3', { digest: 'other' })),
    /event 3 was posted with different bodies/,
  ],
  [
    'I2',
    'an id that is not of the feed',
    ({ history }) => void history.push(sampleWebhook('3', { webhookId: 'x' })),
    /event 3 came with the webhook-id x/,
  ],
  [
    'I3',
    'a send that was accepted twice',
    ({ end }) => void end.accepted.push({ messageId: '<send-1>', by: 'the SMTP server' }),
    /the SMTP server accepted the send send-1 2 times/,
  ],
  [
    'I4',
    'a send that the outbox lost',
    ({ history }) => void addRequest(history, 'r6', { madeId: 'send-9', key: 'key-9' }),
    /send-9 was accepted, and is not in the outbox/,
  ],
  [
    'I4',
    'a send that never ended',
    ({ end }) => void (end.outbox[1]!.status = 'sending'),
    /send-2 is still sending/,
  ],
  [
    'I4',
    'a send that waits for its task',
    ({ end }) => void (end.outbox[0]!.isBusy = true),
    /still to be done for the send send-1/,
  ],
  [
    'I4',
    'a send of unknown outcome that nobody had begun to send',
    ({ end }) => void (end.outbox[1]!.wasHandedOver = false),
    /the outcome of the send send-2 is unknown, and it was never handed over/,
  ],
  [
    'I4',
    'a sent message that no server accepted',
    ({ end }) => void end.accepted.shift(),
    /send-1 is sent, and no provider accepted it/,
  ],
  [
    'I4',
    'a refused message that the server accepted',
    ({ end }) => void (end.outbox[1]!.reason = 'provider_rejected'),
    /send-2 is failed \(provider_rejected\), and the SMTP server accepted it/,
  ],
  [
    'I4',
    'a message of nobody',
    ({ end }) => void end.accepted.push({ messageId: '<stray>', by: 'the SMTP server' }),
    /accepted <stray>, which is not in the outbox/,
  ],
  [
    'I5',
    'a message that the index lacks',
    ({ end }) => void end.mailboxes[0]!.truth.push('INBOX: two '),
    /the index lacks “INBOX: two ”/,
  ],
  [
    'I5',
    'a message that the index has twice',
    ({ end }) => void end.mailboxes[0]!.index.push('INBOX: one \\Seen'),
    /the index has “INBOX: one \\Seen”/,
  ],
  [
    'I5',
    'an acknowledged change that was lost',
    ({ end }) => void (end.flags[0]!.isRead = false),
    /isRead true was acknowledged, and is false/,
  ],
  [
    'I5',
    'a stored message with other bytes',
    ({ history }) => void history.push(sampleBody({ digest: 'another digest' })),
    /“one” in account-1 was downloaded with other bytes than were sent/,
  ],
  [
    'I6',
    'a change that the feed never reported',
    ({ end }) =>
      void end.mailboxes[0]!.after.messages.set('m1', sampleMessage('m1', { isRead: true, isFlagged: true })),
    /other values of isFlagged of message m1/,
  ],
  [
    'I6',
    'a message that the feed never reported',
    ({ end }) => void end.mailboxes[0]!.after.messages.set('m3', sampleMessage('m3')),
    /never said that message m3 exists/,
  ],
  [
    'I6',
    'a message that the feed never took away',
    ({ end }) => void end.mailboxes[0]!.after.messages.delete('m1'),
    /never said that message m1 is gone/,
  ],
  ['I6', 'a change after the end', addLateChange, /message\.updated of .* that was not there/],
  [
    'I6',
    'a change that was announced twice',
    addSecondChange,
    /event 8 says that isRead of a message changed, as it was said before/,
  ],
  [
    'I7',
    'two processes that follow one account',
    ({ history }) => void history.push(sampleSession({ process: 'three', from: 30_000, at: 45_000 })),
    /two and three both followed ada for 15\.0 s/,
  ],
  [
    'I7',
    'an account that nobody owned for too long',
    ({ end }) => {
      end.owners[1]!.at = 5_000
      end.owners[2]!.at = 36_000
      end.owners[3]!.at = 50_000
    },
    /account account-2 had no living owner for 31\.0 s/,
  ],
  [
    'I7',
    'an account that a killed process kept for too long',
    ({ history, end }) => {
      history.push({ ...sampleStop('one', 5_000, 6_000), kind: 'kill_process' })
      end.owners[1]!.at = 40_000
      end.owners[2]!.at = 41_000
    },
    /account account-2 had no living owner for 36\.0 s/,
  ],
  [
    'I7',
    'an account that was taken from a living process',
    ({ end }) => void (end.owners[3]!.leaseSeconds = 4),
    /taken from two, whose lease had 4 s left/,
  ],
  [
    'I7',
    'an epoch that was used twice',
    ({ end }) => void (end.owners[4]!.epoch = 2),
    /the epoch went from 2 to 2/,
  ],
  [
    'I7',
    'a write by a process that lost the account',
    ({ end }) => void end.staleWrites.push({ accountId: 'a', writer: 'one', owner: 'two' }),
    /one moved a cursor of account a, which belonged to two/,
  ],
  [
    'I8',
    'a key with two results',
    ({ history }) => void addRequest(history, 'r2b', { key: 'key-1', madeId: 'send-2', isReplay: true }),
    /the key key-1 made send-1 and send-2/,
  ],
  [
    'I8',
    'a key that took effect twice',
    ({ history }) => void (findRequest(history, 'r2').isReplay = false),
    /the key key-1 took effect 2 times/,
  ],
  [
    'I8',
    'two sends of one key',
    ({ end }) => void (end.outbox[1]!.key = 'key-1'),
    /the outbox has 2 sends of the key key-1/,
  ],
  [
    'I9',
    'a window with too many requests',
    ({ history }) =>
      void addRequest(history, 'limited 2', {
        actor: 'limited client',
        method: 'GET',
        window: { limit: 2, remaining: 0, resetSeconds: 58 },
      }),
    /limited client: in the window until .*, 3 requests were accepted, of 2/,
  ],
  [
    'I9',
    'a place of a window that was given twice',
    ({ history }) => void (findRequest(history, 'limited 1').window!.remaining = 1),
    /limited client: in the window until .*, places given twice: 1/,
  ],
  [
    'I9',
    'a request that was counted elsewhere while Redis was stopped',
    ({ history }) => void history.push({ ...sampleStop('one', -4_000, 5_000), kind: 'redis_stopped' }),
    /limited client: limited 0 was counted while Redis was stopped/,
  ],
  [
    'I9',
    'requests that are no longer counted',
    ({ end }) => void (end.windows.isCounted = false),
    /requests are not counted at the end/,
  ],
  [
    'I9',
    'a request that stays in flight',
    ({ end }) => void (end.resources.inFlight[0]!.accepted = 15),
    /one: only 15 of 16 requests of a key could be in flight/,
  ],
  [
    'I9',
    'a request that stays in flight in Redis',
    ({ end }) => void (end.resources.leftInRedis = 1),
    /1 requests are in flight in Redis, although there is none/,
  ],
  [
    'I12',
    'a send that comes back from its end',
    ({ end }) =>
      void end.transitions.push({ kind: 'outbox', id: 'send-1', from: 'sent', to: 'queued', reason: null }),
    /outbox send-1 went from sent to queued/,
  ],
  [
    'I12',
    'a send in a state that no transition leads to',
    ({ end }) => void end.outboxStates.push({ status: 'sending', phase: 'unknown', task: null }),
    /an entry of the outbox was sending, with the phase unknown and the task null/,
  ],
  [
    'I12',
    'an entry into a status that was announced twice',
    ({ end }) => announceAgain(end),
    /account account-1 became reauth_required 1 times, and account\.reauth_required came 2 times/,
  ],
  [
    'I12',
    'an end that was never announced',
    ({ end }) =>
      void end.transitions.push({ kind: 'outbox', id: 'send-3', from: 'sending', to: 'sent', reason: null }),
    /outbox send-3 became sent 1 times, and send\.sent came 0 times/,
  ],
  [
    'I12',
    'something that a purge left',
    ({ end }) => void end.deleted[0]!.tablesLeft.push('template'),
    /something of the deleted account account-9 is left in template/,
  ],
  [
    'I12',
    'a send of a deleted account',
    ({ end }) => void (end.deleted[0]!.acceptedCount = 1),
    /1 messages of the deleted account account-9 were sent/,
  ],
  [
    'I12',
    'a deleted account that is followed',
    ({ end }) => void (end.deleted[0]!.isFollowed = true),
    /the deleted account account-9 is still followed/,
  ],
  [
    'I12',
    'a change that was announced after the deletion',
    ({ end }) => void end.deleted[0]!.events.splice(3, 0, 'message.created'),
    /the last events of the deleted account account-9 are account\.deleted, message\.created, account\.purged/,
  ],
  [
    'I12',
    'a purge that was announced twice',
    ({ end }) => void end.deleted[0]!.events.push('account.purged'),
    /are account\.deleted, account\.purged, account\.purged/,
  ],
  [
    'I13',
    'a request without its row',
    ({ end }) => void end.audit.rows.shift(),
    /\(r1, answered 200\) has 0 rows, not 1/,
  ],
  [
    'I13',
    'a request with two rows',
    ({ end }) => void end.audit.rows.push({ requestId: 'r5', status: 200 }),
    /\(r5, answered 200\) has 2 rows, not 1/,
  ],
  [
    'I13',
    'a repeated answer with a row',
    ({ end }) => void end.audit.rows.push({ requestId: 'r2', status: 200 }),
    /\(r2, answered 200\) has 1 rows, not 0/,
  ],
  ['I13', 'a broken chain', ({ end }) => void (end.audit.findings = 1), /the chain has 1 findings/],
  [
    'I15',
    'a send that waited for those that hang',
    ({ end }) => void (end.neighbours[0]!.seconds = 31),
    /the send neighbour-1 took 31\.0 s while others hung at the dot/,
  ],
  [
    'I15',
    'a send that never left beside those that hang',
    ({ end }) => void (end.neighbours[0]!.seconds = null),
    /the send neighbour-1 did not leave/,
  ],
  [
    'I16',
    'a time that was set while the clock was ahead',
    ({ end }) => void end.timesAhead.push('outbox.due_set_at'),
    /a time in outbox\.due_set_at lies ahead/,
  ],
  [
    'I14',
    'a lock that is still held',
    ({ end }) => void (end.resources.advisoryLocks = 1),
    /1 advisory locks are held/,
  ],
  [
    'I14',
    'a transaction that waits for its client',
    ({ end }) => void (end.resources.openTransactions = 1),
    /1 transactions wait/,
  ],
  [
    'I14',
    'a claim of a dead process',
    ({ end }) => void end.resources.deadClaims.push('a row of outbox'),
    /a row of outbox is claimed by a process that is dead/,
  ],
  [
    'I14',
    'a file of nobody',
    ({ end }) => void end.resources.orphanFiles.push('ab/cd'),
    /1 files belong to no row: ab\/cd/,
  ],
  [
    'I14',
    'a process that keeps its connections',
    ({ end }) => void (end.resources.processes[0]!.openFiles = 400),
    /one has 400 files open, at first 50/,
  ],
  [
    'I14',
    'a process that ended by itself',
    ({ end }) => void (end.resources.processes[0]!.exitedBy = 'exit code 1'),
    /one ended by itself: exit code 1/,
  ],
]

type Entries = SampleEvidence['history']

function findRequest(history: Entries, requestId: string) {
  const found = history.find(entry => entry.type === 'request' && entry.requestId === requestId)
  if (found?.type !== 'request') throw new Error(`The sample has no request ${requestId}`)
  return found
}

export function addRequest(history: Entries, requestId: string, given: Parameters<typeof sampleRequest>[0]) {
  history.push(sampleRequest({ requestId, from: 2_000, at: 2_100, ...given }))
}

function removePage(history: Entries, reader: string, id: string) {
  for (const entry of history) {
    if (entry.type === 'page' && entry.reader === reader) entry.ids = entry.ids.filter(one => one !== id)
  }
}

function swapPage(history: Entries) {
  const page = history.find(entry => entry.type === 'page')
  if (page?.type === 'page') page.ids = ['2', '1', '3']
}

export function removeWebhook(history: Entries, eventId: string) {
  const at = history.findIndex(entry => entry.type === 'webhook' && entry.eventId === eventId)
  history.splice(at, 1)
}

function refuseWebhook(history: Entries, eventId: string) {
  removeWebhook(history, eventId)
  history.push(sampleWebhook(eventId, { status: 500 }), sampleWebhook(eventId, { status: null }))
}

/** Adds an event that everybody was given. */
function tell({ history, end }: SampleEvidence, event: ReturnType<typeof sampleEvent>) {
  const { id, type, accountId } = event
  end.feed.push(event)
  end.events.push({ id, type, accountId, createdAt: Number(id) })
  history.push(samplePage('poller', [id]), sampleWebhook(id))
}

function addLateChange(evidence: SampleEvidence) {
  tell(evidence, sampleEvent('8', 'message.updated', { message: sampleMessage('m2'), changes: ['isRead'] }))
}

function addSecondChange(evidence: SampleEvidence) {
  const message = sampleMessage('m1', { isRead: true })
  tell(evidence, sampleEvent('8', 'message.updated', { message, changes: ['isRead'] }))
}

function announceAgain(end: SampleEvidence['end']) {
  end.feed.push(sampleEvent('8', 'account.reauth_required'))
}
