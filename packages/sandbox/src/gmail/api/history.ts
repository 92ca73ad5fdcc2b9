import {
  changesAfter,
  historyId,
  historyNumber,
  presentId,
  type Change,
  type ChangeKind,
} from '../mailbox/history.ts'
import type { Mailbox } from '../mailbox/mailbox.ts'
import { presentIds } from '../payload.ts'
import { integerIn } from '../../google/api/input.ts'
import { requireLabels } from './input.ts'
import { METADATA_READERS, type GmailMethod, type MethodCall } from './method.ts'
import { invalidArgument, notFound } from '../../google/api/refusal.ts'
import { SHAPES } from './shapes.ts'

const PAGE_DEFAULT = 100
const PAGE_MAX = 500
const KINDS: readonly ChangeKind[] = ['messageAdded', 'messageDeleted', 'labelAdded', 'labelRemoved']

export const historyMethods: readonly GmailMethod[] = [
  {
    id: 'history.list',
    http: 'GET',
    path: 'history',
    scopes: METADATA_READERS,
    query: ['startHistoryId', 'maxResults', 'pageToken', 'labelId', 'historyTypes'],
    answer: SHAPES.history,
    run: listHistory,
  },
]

/** A page token holds the history id to go on from, and whether the empty page before it was given. */
const TOKEN = /^(\d{1,20})([01])$/

function listHistory(call: MethodCall): object {
  const { mailbox, query, gmail } = call
  const start = requireStart(query.get('startHistoryId'))
  const token = TOKEN.exec(query.get('pageToken') ?? `${start}0`)
  if (!token) throw invalidArgument('Invalid pageToken')
  const [, after = start, wasEmpty = '0'] = token
  if (changesAfter(mailbox.history, start) === null) throw notFound()
  const found = (changesAfter(mailbox.history, after) ?? []).filter(wanted(mailbox, query))
  const present = { historyId: presentId(mailbox.history) }
  if (found.length === 0) return present
  if (gmail.settings.emptyHistoryPages && wasEmpty === '0') return { nextPageToken: `${after}1`, ...present }
  const page = found.slice(0, integerIn(query, 'maxResults', PAGE_DEFAULT, PAGE_MAX))
  const records = page.map(change => presentChange(mailbox, change))
  return {
    history: gmail.settings.repeatedHistory ? records.flatMap(record => [record, record]) : records,
    ...(page.length < found.length && { nextPageToken: `${historyId((page.at(-1) as Change).number)}0` }),
    ...present,
  }
}

function requireStart(start: string | null): string {
  if (start === null) throw invalidArgument('Missing startHistoryId')
  if (!/^\d{1,20}$/.test(start))
    throw invalidArgument(`Invalid value at 'start_history_id' (TYPE_UINT64), "${start}"`)
  if (historyNumber(start) === null) throw notFound()
  return start
}

function wanted(mailbox: Mailbox, query: URLSearchParams): (change: Change) => boolean {
  const kinds = query.getAll('historyTypes')
  const unknown = kinds.find(kind => !KINDS.some(known => known === kind))
  if (unknown !== undefined)
    throw invalidArgument(
      `Invalid value at 'history_types' (type.googleapis.com/google.protobuf.Enum), "${unknown}"`,
    )
  const label = query.get('labelId')
  if (label !== null) requireLabels(mailbox, [label])
  return change =>
    (kinds.length === 0 || kinds.includes(change.kind)) &&
    (label === null || change.message.labels.has(label) || change.labels.includes(label))
}

/** One record. Its message shows the labels that it has now, and none once it is deleted. */
function presentChange(mailbox: Mailbox, { number, kind, message, labels }: Change): object {
  const ids = { id: message.id, threadId: message.threadId }
  const shown = mailbox.messages.has(message.id) ? presentIds(message) : ids
  return {
    id: historyId(number),
    messages: [ids],
    ...(kind === 'messageAdded' && { messagesAdded: [{ message: shown }] }),
    ...(kind === 'messageDeleted' && { messagesDeleted: [{ message: shown }] }),
    ...(kind === 'labelAdded' && { labelsAdded: [{ message: shown, labelIds: labels }] }),
    ...(kind === 'labelRemoved' && { labelsRemoved: [{ message: shown, labelIds: labels }] }),
  }
}
