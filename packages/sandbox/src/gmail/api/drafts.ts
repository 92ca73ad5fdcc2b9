import { headersOf } from '../../mail/message-headers.ts'
import { addMessage, removeMessage, type Mailbox } from '../mailbox/mailbox.ts'
import type { Message } from '../mailbox/message.ts'
import { threadFor } from '../mailbox/threading.ts'
import { presentIds, presentMessage } from '../payload.ts'
import { sendMessage } from '../sending/send.ts'
import { objectIn, stringIn } from '../../google/api/input.ts'
import { messageIn } from './input.ts'
import { requestedThread } from './message-arrivals.ts'
import { formatIn } from './messages.ts'
import { COMPOSE, MAIL, MODIFY, READONLY, type GmailMethod, type MethodCall } from './method.ts'
import { pageOf } from './pages.ts'
import { invalidArgument, notFound } from '../../google/api/refusal.ts'
import { SHAPES } from './shapes.ts'

const READ = [MAIL, MODIFY, COMPOSE, READONLY]
const WRITE = [MAIL, MODIFY, COMPOSE]
const change = { scopes: WRITE, body: SHAPES.draft, uploads: true } as const

export const draftMethods: readonly GmailMethod[] = [
  {
    id: 'drafts.list',
    http: 'GET',
    path: 'drafts',
    scopes: READ,
    query: ['q', 'maxResults', 'pageToken', 'includeSpamTrash'],
    answer: SHAPES.drafts,
    run: listDrafts,
  },
  {
    id: 'drafts.get',
    http: 'GET',
    path: 'drafts/{id}',
    scopes: READ,
    query: ['format'],
    answer: SHAPES.draft,
    run: getDraft,
  },
  { ...change, id: 'drafts.create', http: 'POST', path: 'drafts', answer: SHAPES.draft, run: createDraft },
  {
    ...change,
    id: 'drafts.update',
    http: 'PUT',
    path: 'drafts/{id}',
    answer: SHAPES.draft,
    run: updateDraft,
  },
  { ...change, id: 'drafts.send', http: 'POST', path: 'drafts/send', answer: SHAPES.message, run: sendDraft },
  { id: 'drafts.delete', http: 'DELETE', path: 'drafts/{id}', scopes: WRITE, run: deleteDraft },
]

function listDrafts(call: MethodCall): object {
  const { messages, ...page } = pageOf(call, ['DRAFT'], 'message')
  const byMessage = new Map([...call.mailbox.drafts].map(([draft, message]) => [message, draft]))
  const drafts = messages.flatMap(({ id, threadId }) => {
    const draft = byMessage.get(id)
    return draft === undefined ? [] : [{ id: draft, message: { id, threadId } }]
  })
  return { ...(drafts.length > 0 && { drafts }), ...page }
}

function requireDraft(mailbox: Mailbox, id: string | undefined): Message {
  const message = mailbox.messages.get(mailbox.drafts.get(id ?? '') ?? '')
  if (!message) throw notFound()
  return message
}

function getDraft(call: MethodCall): object {
  const message = requireDraft(call.mailbox, call.params.id)
  const format = call.caller.scopes.includes(COMPOSE)
    ? formatIn({ ...call, caller: { ...call.caller, scopes: [MAIL] } })
    : formatIn(call)
  return { id: call.params.id, message: presentMessage(message, format, [], call.gmail.random) }
}

const presentDraft = (id: string, message: Message): object => ({ id, message: presentIds(message) })

function createDraft(call: MethodCall): object {
  const { mailbox, gmail } = call
  const message = objectIn(call.body, 'message')
  const raw = messageIn(call, message)
  const id = `r${gmail.random.digits(19)}`
  const threadId = threadFor(mailbox, headersOf(raw), requestedThread(call, message))
  return presentDraft(id, keepDraft(mailbox, id, raw, threadId))
}

/** A change of a draft makes a new message; only the id of the draft stays. */
function updateDraft(call: MethodCall): object {
  const { mailbox, params } = call
  const before = requireDraft(mailbox, params.id)
  const message = objectIn(call.body, 'message')
  const raw = messageIn(call, message)
  const threadId = threadFor(mailbox, headersOf(raw), requestedThread(call, message), before)
  removeMessage(mailbox, before)
  return presentDraft(params.id as string, keepDraft(mailbox, params.id as string, raw, threadId))
}

function keepDraft(mailbox: Mailbox, id: string, raw: Buffer, threadId: string | undefined): Message {
  const message = addMessage(mailbox, { raw, labels: ['DRAFT'], internalDate: mailbox.now(), threadId })
  mailbox.drafts.set(id, message.id)
  return message
}

/** Sends a draft, in the form that the call gives it if it gives one. The message that is sent has another id. */
function sendDraft(call: MethodCall): object {
  const { mailbox, gmail, body } = call
  const id = stringIn(body, 'id')
  const message = objectIn(body, 'message')
  const given = call.media !== null || message.raw !== undefined
  if (id === undefined && !given) throw invalidArgument('Invalid draft')
  const draft = id === undefined ? null : requireDraft(mailbox, id)
  const raw = given ? messageIn(call, message) : (draft as Message).raw
  const asked = requestedThread(call, message)
  const sent = sendMessage(gmail, mailbox, raw, threadFor(mailbox, headersOf(raw), asked, draft ?? undefined))
  if (draft && id !== undefined) discard(mailbox, id, draft)
  return presentIds(sent)
}

function deleteDraft({ mailbox, params }: MethodCall): void {
  discard(mailbox, params.id as string, requireDraft(mailbox, params.id))
}

function discard(mailbox: Mailbox, id: string, message: Message): void {
  mailbox.drafts.delete(id)
  removeMessage(mailbox, message)
}
