import { changeLabels, type Mailbox } from '../mailbox/mailbox.ts'
import type { Message } from '../mailbox/message.ts'
import { historyId } from '../mailbox/history.ts'
import { parseMessage } from '../../mail/mime.ts'
import { snippetOf } from '../../mail/snippet.ts'
import { presentIds, presentMessage } from '../payload.ts'
import { deleteForever, requestedChanges, trash, untrash } from './message-changes.ts'
import { formatIn } from './messages.ts'
import { MAIL, METADATA_READERS, MODIFY, type GmailMethod, type MethodCall } from './method.ts'
import { LIST_QUERY, pageOf } from './pages.ts'
import { invalidArgument, notFound } from '../../google/api/refusal.ts'
import { SHAPES } from './shapes.ts'

const WRITE = [MAIL, MODIFY]
const answer = SHAPES.thread

export const threadMethods: readonly GmailMethod[] = [
  {
    id: 'threads.list',
    http: 'GET',
    path: 'threads',
    scopes: METADATA_READERS,
    query: LIST_QUERY,
    answer: SHAPES.threads,
    run: listThreads,
  },
  {
    id: 'threads.get',
    http: 'GET',
    path: 'threads/{id}',
    scopes: METADATA_READERS,
    query: ['format', 'metadataHeaders'],
    answer,
    run: getThread,
  },
  {
    id: 'threads.modify',
    http: 'POST',
    path: 'threads/{id}/modify',
    scopes: WRITE,
    body: SHAPES.modify,
    answer,
    run: modify,
  },
  {
    id: 'threads.trash',
    http: 'POST',
    path: 'threads/{id}/trash',
    scopes: WRITE,
    answer,
    run: call => changed(call, trash),
  },
  {
    id: 'threads.untrash',
    http: 'POST',
    path: 'threads/{id}/untrash',
    scopes: WRITE,
    answer,
    run: call => changed(call, untrash),
  },
  {
    id: 'threads.delete',
    http: 'DELETE',
    path: 'threads/{id}',
    scopes: [MAIL],
    run: call => void changed(call, deleteForever),
  },
]

/** The messages of a thread, oldest first. */
function requireThread({ mailbox, params }: MethodCall): Message[] {
  const messages = mailbox.threads.get(params.id as string)
  if (!messages) throw notFound()
  return [...messages].toSorted((a, b) => a.internalDate - b.internalDate || a.order - b.order)
}

function listThreads(call: MethodCall): object {
  const { messages, ...page } = pageOf(call, [], 'thread')
  const threads = messages.map(message => ({
    id: message.threadId,
    snippet: (message.snippet ??= snippetOf(message.raw, parseMessage(message.raw))),
    historyId: historyOf(call.mailbox.threads.get(message.threadId) ?? []),
  }))
  return { ...(threads.length > 0 && { threads }), ...page }
}

const historyOf = (messages: Iterable<Message>): string =>
  historyId(Math.max(...[...messages].map(message => message.historyNumber)))

function getThread(call: MethodCall): object {
  const format = formatIn(call)
  if (format === 'raw') throw invalidArgument('Format RAW is not supported for threads')
  const messages = requireThread(call)
  const headers = call.query.getAll('metadataHeaders')
  return {
    id: call.params.id,
    historyId: historyOf(messages),
    messages: messages.map(message => presentMessage(message, format, headers, call.gmail.random)),
  }
}

function modify(call: MethodCall): object {
  const { add, remove } = requestedChanges(call)
  return changed(call, (mailbox, message) => changeLabels(mailbox, message, add, remove))
}

function changed(call: MethodCall, change: (mailbox: Mailbox, message: Message) => void): object {
  const messages = requireThread(call)
  for (const message of messages) change(call.mailbox, message)
  return { id: call.params.id, messages: messages.map(presentIds) }
}
