import { FIXED_LABELS } from '../mailbox/labels.ts'
import { changeLabels, removeMessage, type Mailbox } from '../mailbox/mailbox.ts'
import type { Message } from '../mailbox/message.ts'
import { presentIds } from '../payload.ts'
import { stringsIn } from '../../google/api/input.ts'
import { labelChangesIn } from './input.ts'
import { requireMessage } from './messages.ts'
import { MAIL, MODIFY, type GmailMethod, type MethodCall } from './method.ts'
import { invalidArgument } from '../../google/api/refusal.ts'
import { SHAPES } from './shapes.ts'

const WRITE = [MAIL, MODIFY]
const BATCH_IDS_MAX = 1_000
const answer = SHAPES.message

export const messageChangeMethods: readonly GmailMethod[] = [
  {
    id: 'messages.modify',
    http: 'POST',
    path: 'messages/{id}/modify',
    scopes: WRITE,
    body: SHAPES.modify,
    answer,
    run: modify,
  },
  {
    id: 'messages.trash',
    http: 'POST',
    path: 'messages/{id}/trash',
    scopes: WRITE,
    answer,
    run: call => changed(call, trash),
  },
  {
    id: 'messages.untrash',
    http: 'POST',
    path: 'messages/{id}/untrash',
    scopes: WRITE,
    answer,
    run: call => changed(call, untrash),
  },
  { id: 'messages.delete', http: 'DELETE', path: 'messages/{id}', scopes: [MAIL], run: deleteMessage },
  {
    id: 'messages.batchModify',
    http: 'POST',
    path: 'messages/batchModify',
    scopes: WRITE,
    body: SHAPES.batchModify,
    run: batchModify,
  },
  {
    id: 'messages.batchDelete',
    http: 'POST',
    path: 'messages/batchDelete',
    scopes: [MAIL],
    body: SHAPES.batchDelete,
    run: batchDelete,
  },
]

function changed(call: MethodCall, change: (mailbox: Mailbox, message: Message) => void): object {
  const message = requireMessage(call.mailbox, call.params.id)
  change(call.mailbox, message)
  return presentIds(message)
}

/** Puts a message into the trash. It is remembered whether it was in the inbox. */
export function trash(mailbox: Mailbox, message: Message): void {
  if (!message.labels.has('TRASH')) message.wasInInbox = message.labels.has('INBOX')
  changeLabels(mailbox, message, ['TRASH'], ['INBOX', 'SPAM'])
}

/** Takes a message from the trash, back into the inbox if it was there. */
export function untrash(mailbox: Mailbox, message: Message): void {
  const restored = message.labels.has('TRASH') && message.wasInInbox
  changeLabels(mailbox, message, restored ? ['INBOX'] : [], ['TRASH'])
}

function modify(call: MethodCall): object {
  const message = requireMessage(call.mailbox, call.params.id)
  const { add, remove } = requestedChanges(call)
  changeLabels(call.mailbox, message, add, remove)
  return presentIds(message)
}

/** The label changes of a call. SENT and DRAFT are set by Gmail alone. */
export function requestedChanges({ mailbox, body }: MethodCall): { add: string[]; remove: string[] } {
  const changes = labelChangesIn(mailbox, body)
  const fixed = [...changes.add, ...changes.remove].find(label => FIXED_LABELS.has(label))
  if (fixed !== undefined) throw invalidArgument(`Invalid label: ${fixed}`)
  return changes
}

function deleteMessage({ mailbox, params }: MethodCall): void {
  deleteForever(mailbox, requireMessage(mailbox, params.id))
}

/** Deletes a message, and the draft that it is the message of. */
export function deleteForever(mailbox: Mailbox, message: Message): void {
  removeMessage(mailbox, message)
  if (!message.labels.has('DRAFT')) return
  for (const [draft, id] of mailbox.drafts) if (id === message.id) mailbox.drafts.delete(draft)
}

function batchModify(call: MethodCall): void {
  const ids = requireIds(call.body)
  const { add, remove } = requestedChanges(call)
  for (const message of found(call.mailbox, ids)) changeLabels(call.mailbox, message, add, remove)
}

function batchDelete({ mailbox, body }: MethodCall): void {
  for (const message of found(mailbox, requireIds(body))) deleteForever(mailbox, message)
}

function requireIds(body: Record<string, unknown>): string[] {
  const ids = stringsIn(body, 'ids')
  if (ids.length === 0) throw invalidArgument('No message ids specified')
  if (ids.length > BATCH_IDS_MAX) throw invalidArgument(`Too many message ids: ${BATCH_IDS_MAX} at most`)
  return ids
}

/** The messages that exist; the others are passed over, as Gmail does. */
const found = (mailbox: Mailbox, ids: string[]): Message[] =>
  ids.flatMap(id => mailbox.messages.get(id) ?? [])
