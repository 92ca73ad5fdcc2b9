import { addDraft, completeMime, isMime, mimeIn, ownFields } from './drafts.ts'
import { wellKnownFolder } from '../mailbox/mailbox.ts'
import { submit } from '../sending/deliver.ts'
import { removeMessage } from '../mailbox/messages.ts'
import { badRequest } from './errors.ts'
import { objectIn, readMessage } from './message-input.ts'
import { MESSAGE_PATHS } from './messages.ts'
import { requireDraft } from './require-draft.ts'
import type { GraphAnswer, GraphMethod, MethodCall } from './method.ts'
import { writeInput } from './write-input.ts'

export const SEND = ['Mail.Send'] as const

const accepted: GraphAnswer = { status: 202 }

export const sendMethods: readonly GraphMethod[] = [
  { http: 'POST', path: 'sendMail', scopes: SEND, run: sendMail },
  ...MESSAGE_PATHS.map((path): GraphMethod => ({
    http: 'POST',
    path: `${path}/send`,
    scopes: SEND,
    run: sendDraft,
  })),
]

function sendDraft(call: MethodCall): GraphAnswer {
  const draft = requireDraft(call)
  submit(call, { raw: draft.raw, draft, isSaved: true })
  return accepted
}

function sendMail(call: MethodCall): GraphAnswer {
  if (isMime(call)) {
    const raw = mimeIn(call)
    if (raw === null) return { status: 200 }
    submit(call, { raw: completeMime(call, raw), draft: null, isSaved: true })
    return accepted
  }
  const json = call.json()
  const given = json['message'] ?? json['Message']
  if (given === undefined) throw badRequest('The parameter Message is missing.', 'ErrorInvalidRequest')
  const isSaved = (json['saveToSentItems'] ?? json['SaveToSentItems'] ?? true) !== false
  const input = readMessage(objectIn(given, 'message'))
  if (input.attachments.length === 0) {
    submit(call, { raw: writeInput(call, input, null), draft: null, fields: ownFields(input), isSaved })
    return accepted
  }
  sendThrough(call, addDraft(call, wellKnownFolder(call.mailbox, 'drafts'), input, null), isSaved)
  return accepted
}

/** Sends a draft that was made only to be sent. A refused one is not left behind. */
export function sendThrough(call: MethodCall, draft: ReturnType<typeof addDraft>, isSaved: boolean): void {
  try {
    submit(call, { raw: draft.raw, draft, isSaved })
  } catch (error) {
    removeMessage(call.mailbox, draft)
    throw error
  }
}
