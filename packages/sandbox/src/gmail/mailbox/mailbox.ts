import { baseSubject, headerOf } from '../../mail/headers.ts'
import { headersOf } from '../../mail/message-headers.ts'
import { newHistory, recordChange, type History } from './history.ts'
import { systemLabels, type Label } from './labels.ts'
import type { Message } from './message.ts'

export interface SendAs {
  sendAsEmail: string
  displayName: string
  replyToAddress: string
  signature: string
  isPrimary: boolean
  isDefault: boolean
  treatAsAlias: boolean
  verificationStatus: 'accepted' | 'pending'
}

/** The mail of one user. */
export interface Mailbox {
  readonly email: string
  readonly now: () => number
  readonly messages: Map<string, Message>
  /** Oldest first, by internal date. */
  readonly ordered: Message[]
  readonly threads: Map<string, Set<Message>>
  readonly byMessageId: Map<string, Set<Message>>
  readonly byLabel: Map<string, Set<Message>>
  readonly labels: Map<string, Label>
  /** From the id of a draft, which lasts, to the id of its message, which does not. */
  readonly drafts: Map<string, string>
  readonly sendAs: Map<string, SendAs>
  readonly history: History
  /** Counts everything that was ever made here, so that no id comes twice. */
  made: number
  /** Called after each change, with the labels of the message that changed. */
  changed: (labels: Set<string>) => void
}

export function newMailbox(email: string, name: string, now: () => number): Mailbox {
  const labels = systemLabels()
  return {
    email,
    now,
    messages: new Map(),
    ordered: [],
    threads: new Map(),
    byMessageId: new Map(),
    byLabel: new Map([...labels.keys()].map(id => [id, new Set()])),
    labels,
    drafts: new Map(),
    sendAs: new Map([[email, primarySendAs(email, name)]]),
    history: newHistory(now),
    made: 0,
    changed: () => {},
  }
}

const primarySendAs = (email: string, name: string): SendAs => ({
  sendAsEmail: email,
  displayName: name,
  replyToAddress: '',
  signature: '',
  isPrimary: true,
  isDefault: true,
  treatAsAlias: false,
  verificationStatus: 'accepted',
})

/** An id of this mailbox in the form of Gmail's: 16 hexadecimal digits. */
export function nextId(mailbox: Mailbox): string {
  mailbox.made += 1
  return (
    mailbox.now().toString(16).padStart(11, '0') + (mailbox.made % 0x1_0000_0).toString(16).padStart(5, '0')
  )
}

export interface Arrival {
  raw: Buffer
  labels: Iterable<string>
  internalDate: number
  threadId?: string
}

/** Puts a message into the mailbox and writes its history. */
export function addMessage(mailbox: Mailbox, { raw, labels, internalDate, threadId }: Arrival): Message {
  const headers = headersOf(raw)
  const id = nextId(mailbox)
  const message: Message = {
    id,
    threadId: threadId ?? id,
    raw,
    internalDate,
    order: mailbox.made,
    messageId: headerOf(headers, 'Message-ID').trim(),
    baseSubject: baseSubject(headerOf(headers, 'Subject')),
    labels: new Set(labels),
    historyNumber: 0,
  }
  mailbox.messages.set(id, message)
  mailbox.ordered.splice(placeOf(mailbox.ordered, message.internalDate, message.order), 0, message)
  addTo(mailbox.threads, message.threadId, message)
  if (message.messageId) addTo(mailbox.byMessageId, message.messageId, message)
  for (const label of message.labels) addTo(mailbox.byLabel, label, message)
  recordChange(mailbox.history, message, 'messageAdded', [])
  mailbox.changed(message.labels)
  return message
}

/** Deletes a message for good. */
export function removeMessage(mailbox: Mailbox, message: Message): void {
  mailbox.messages.delete(message.id)
  mailbox.ordered.splice(placeOf(mailbox.ordered, message.internalDate, message.order), 1)
  removeFrom(mailbox.threads, message.threadId, message)
  if (message.messageId) removeFrom(mailbox.byMessageId, message.messageId, message)
  for (const label of message.labels) mailbox.byLabel.get(label)?.delete(message)
  recordChange(mailbox.history, message, 'messageDeleted', [])
  mailbox.changed(message.labels)
}

/** Adds and removes labels. A label that is there already, or is not there, writes no history. */
export function changeLabels(mailbox: Mailbox, message: Message, add: string[], remove: string[]): void {
  const removed = remove.filter(label => message.labels.delete(label))
  const added = add.filter(label => !message.labels.has(label) && message.labels.add(label))
  for (const label of removed) mailbox.byLabel.get(label)?.delete(message)
  for (const label of added) addTo(mailbox.byLabel, label, message)
  if (removed.length > 0) recordChange(mailbox.history, message, 'labelRemoved', removed)
  if (added.length > 0) recordChange(mailbox.history, message, 'labelAdded', added)
  if (removed.length + added.length > 0) mailbox.changed(new Set([...message.labels, ...removed]))
}

/** The index of the first message that is not before the given one. */
export function placeOf(ordered: Message[], internalDate: number, order: number): number {
  let low = 0
  let high = ordered.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = ordered[middle] as Message
    if (other.internalDate < internalDate || (other.internalDate === internalDate && other.order < order))
      low = middle + 1
    else high = middle
  }
  return low
}

function addTo(index: Map<string, Set<Message>>, key: string, message: Message): void {
  const set = index.get(key)
  if (set) set.add(message)
  else index.set(key, new Set([message]))
}

function removeFrom(index: Map<string, Set<Message>>, key: string, message: Message): void {
  const set = index.get(key)
  set?.delete(message)
  if (set?.size === 0) index.delete(key)
}
