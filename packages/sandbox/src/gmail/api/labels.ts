import { COLORS, LABELS_MAX, isLabelName, type Label } from '../mailbox/labels.ts'
import type { Mailbox } from '../mailbox/mailbox.ts'
import { objectIn, stringIn } from '../../google/api/input.ts'
import { LABELS, MAIL, METADATA_READERS, MODIFY, type GmailMethod, type MethodCall } from './method.ts'
import { conflict, failedPrecondition, invalidArgument, notFound } from '../../google/api/refusal.ts'
import { SHAPES } from './shapes.ts'

const READ = [...METADATA_READERS, LABELS]
const WRITE = [MAIL, MODIFY, LABELS]
const one = { path: 'labels/{id}', scopes: WRITE } as const

export const labelMethods: readonly GmailMethod[] = [
  {
    id: 'labels.list',
    http: 'GET',
    path: 'labels',
    scopes: READ,
    answer: SHAPES.labels,
    run: ({ mailbox }) => ({ labels: [...mailbox.labels.values()] }),
  },
  {
    id: 'labels.get',
    http: 'GET',
    path: 'labels/{id}',
    scopes: READ,
    answer: SHAPES.label,
    run: call => ({ ...requireLabel(call), ...counts(call.mailbox, requireLabel(call).id) }),
  },
  {
    id: 'labels.create',
    http: 'POST',
    path: 'labels',
    scopes: WRITE,
    body: SHAPES.label,
    answer: SHAPES.label,
    run: createLabel,
  },
  {
    id: 'labels.update',
    http: 'PUT',
    ...one,
    body: SHAPES.label,
    answer: SHAPES.label,
    run: call => changeLabel(call, true),
  },
  {
    id: 'labels.patch',
    http: 'PATCH',
    ...one,
    body: SHAPES.label,
    answer: SHAPES.label,
    run: call => changeLabel(call, false),
  },
  { id: 'labels.delete', http: 'DELETE', ...one, run: deleteLabel },
]

function requireLabel({ mailbox, params }: MethodCall): Label {
  const label = mailbox.labels.get(params.id as string)
  if (!label) throw notFound()
  return label
}

function createLabel({ mailbox, body }: MethodCall): Label {
  const input = labelIn(body)
  if (mailbox.labels.size >= LABELS_MAX) throw failedPrecondition('Maximum number of labels reached')
  if (input.name === undefined) throw invalidArgument('Invalid label name')
  requireFreeName(mailbox, input.name, null)
  mailbox.made += 1
  const label: Label = {
    messageListVisibility: 'show',
    labelListVisibility: 'labelShow',
    ...input,
    name: input.name,
    id: `Label_${mailbox.made}`,
    type: 'user',
  }
  mailbox.labels.set(label.id, label)
  mailbox.byLabel.set(label.id, new Set())
  return label
}

function changeLabel(call: MethodCall, whole: boolean): Label {
  const label = requireLabel(call)
  const input = labelIn(call.body)
  if (label.type === 'system') throw invalidArgument('Invalid label')
  const id = stringIn(call.body, 'id')
  if (id !== undefined && id !== label.id)
    throw invalidArgument('Label ID in the body does not match the URL')
  if (whole && input.name === undefined) throw invalidArgument('Invalid label name')
  if (input.name !== undefined) requireFreeName(call.mailbox, input.name, label.id)
  Object.assign(label, input)
  return label
}

/** Takes the label from its messages, too. That writes no history: it is not a change of messages. */
function deleteLabel(call: MethodCall): void {
  const label = requireLabel(call)
  if (label.type === 'system') throw invalidArgument('Invalid delete request')
  for (const message of call.mailbox.byLabel.get(label.id) ?? []) message.labels.delete(label.id)
  call.mailbox.byLabel.delete(label.id)
  call.mailbox.labels.delete(label.id)
}

const VISIBILITIES = {
  messageListVisibility: ['show', 'hide'],
  labelListVisibility: ['labelShow', 'labelShowIfUnread', 'labelHide'],
} as const

function labelIn(body: Record<string, unknown>): Partial<Label> {
  const label: Record<string, unknown> = {}
  const name = stringIn(body, 'name')
  if (name !== undefined) label.name = name.trim()
  for (const [field, words] of Object.entries(VISIBILITIES)) {
    const value = stringIn(body, field)
    if (value === undefined) continue
    if (!words.some(word => word === value)) throw invalidArgument(`Invalid value at '${field}', "${value}"`)
    label[field] = value
  }
  if (body.color !== undefined) label.color = colorIn(objectIn(body, 'color'))
  return label
}

function colorIn(color: Record<string, unknown>): Label['color'] {
  const textColor = stringIn(color, 'textColor')?.toLowerCase() ?? ''
  const backgroundColor = stringIn(color, 'backgroundColor')?.toLowerCase() ?? ''
  if (!COLORS.has(textColor) || !COLORS.has(backgroundColor))
    throw invalidArgument('Label color is not on the allowed color palette')
  return { textColor, backgroundColor }
}

function requireFreeName(mailbox: Mailbox, name: string, own: string | null): void {
  if (!isLabelName(name)) throw invalidArgument('Invalid label name')
  const taken = [...mailbox.labels.values()].some(
    label => label.id !== own && label.name.toLowerCase() === name.toLowerCase(),
  )
  if (taken) throw conflict('Label name exists or conflicts')
}

/** Counts the messages and threads of a label. */
function counts(mailbox: Mailbox, id: string): object {
  const threads = new Set<string>()
  const unread = new Set<string>()
  let messagesUnread = 0
  const messages = mailbox.byLabel.get(id) ?? new Set()
  for (const { threadId, labels } of messages) {
    threads.add(threadId)
    if (!labels.has('UNREAD')) continue
    messagesUnread += 1
    unread.add(threadId)
  }
  return {
    messagesTotal: messages.size,
    messagesUnread,
    threadsTotal: threads.size,
    threadsUnread: unread.size,
  }
}
