import { ProviderFailure } from '../failure.ts'
import type { OutgoingMessage, Refusal, SendingProvider, SendOutcome } from '../sending.ts'
import { serverText } from '../server-text.ts'
import type { GmailApi } from './api.ts'
import { lookUp } from './look-up.ts'
import { createdSchema } from './resources.ts'
import { UNITS } from './units.ts'
import { MESSAGE_BYTES_MAX, uploadToThread, WrongLength } from './upload.ts'

/** Sends by the Gmail API: one request hands the message over, and files the copy. */
export function gmailSending(api: GmailApi): SendingProvider {
  return {
    limits: {
      messageBytesMax: MESSAGE_BYTES_MAX,
      has8BitMime: true,
      hasSmtpUtf8: true,
      hasDsn: false,
      readsHeader: true,
    },
    filesCopy: 'always',
    send: message => send(api, message),
    lookUp: message => lookUp(api, message),
  }
}

async function send(api: GmailApi, message: OutgoingMessage): Promise<SendOutcome> {
  const { envelope, content, signal } = message
  const refuse = (refusal: Partial<Refusal>): SendOutcome => ({
    recipients: envelope.to.map(address => ({ address, refusal: { ...REFUSED, ...refusal } })),
    given: { key: null, threadId: null },
  })
  if (content.byteLength > MESSAGE_BYTES_MAX)
    return refuse({
      isTooLarge: true,
      status: '5.3.4',
      message: `Gmail takes messages of at most ${MESSAGE_BYTES_MAX} bytes.`,
    })
  try {
    const created = await handOver(api, message)
    return {
      recipients: envelope.to.map(address => ({ address, refusal: null })),
      given: { key: created.id, threadId: created.threadId },
    }
  } catch (error) {
    if (error instanceof WrongLength) return refuse({ message: error.message })
    if (signal.aborted && error === signal.reason)
      throw new ProviderFailure('unavailable', 'The send was stopped.', {
        cause: error,
        isBeforeAcceptance: true,
      })
    // Gmail does not name the address that it refuses.
    if (error instanceof ProviderFailure && isOfMessage(error))
      return refuse({ message: serverText(error.message), isTooLarge: TOO_LARGE.test(error.message) })
    throw error
  }
}

const REFUSED: Refusal = {
  of: 'message',
  isPermanent: true,
  isTooLarge: false,
  status: '5.0.0',
  message: 'Gmail refused the message.',
}
const TOO_LARGE = /\b413\b|too large|size limit|maximum size/i

/** Whether the refusal is of this message, and not of the account. */
function isOfMessage({ kind }: ProviderFailure): boolean {
  return kind === 'rejected' || kind === 'not_found' || kind === 'conflict'
}

function handOver(api: GmailApi, message: OutgoingMessage): Promise<{ id: string; threadId: string }> {
  const { content, threadId, beforeHandOver, signal } = message
  return uploadToThread(api, threadId, thread => ({
    method: 'POST',
    path: 'messages/send',
    metadata: thread === null ? {} : { threadId: thread },
    content,
    units: UNITS.messagesSend,
    schema: createdSchema,
    beforeEffect: () => beforeHandOver(null),
    signal,
  }))
}
