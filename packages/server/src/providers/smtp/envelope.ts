import type { OutgoingMessage, RecipientOutcome, Refusal } from '../sending.ts'
import type { Extensions } from './extensions.ts'

/** RFC 5321 section 4.5.3.1: 64 for the local part and 255 for the domain, which servers exceed; a line has 512. */
const ADDRESS_BYTES_MAX = 320
const ADDRESS = /^[^\s<>\u0000-\u001f\u007f-\u009f]+@[^\s<>@\u0000-\u001f\u007f-\u009f]+$/u

export interface EnvelopePlan {
  /** Set if the message cannot be sent by this server at all. */
  refusal: Refusal | null
  mail: string
  /** Recipients that are sent to the server, with the line for each. */
  recipients: Array<{ address: string; line: string }>
  /** Recipients that it cannot have. */
  refused: RecipientOutcome[]
}

/** Decides by the server's extensions which commands the envelope of a message takes. */
export function planEnvelope(
  { envelope, content, envelopeId }: Pick<OutgoingMessage, 'envelope' | 'content' | 'envelopeId'>,
  limits: Extensions,
): EnvelopePlan {
  const refused: RecipientOutcome[] = []
  const addresses: string[] = []
  for (const address of envelope.to) {
    const refusal = refusalOfAddress(address, limits, 'recipient', '5.1.3')
    if (refusal) refused.push({ address, refusal })
    else addresses.push(address)
  }
  const isUtf8 = content.hasUtf8Header || [envelope.from, ...addresses].some(isBeyondAscii)
  const mail = [
    `MAIL FROM:<${envelope.from}>`,
    // RFC 1870, RFC 6152, RFC 6531 section 3.4, RFC 3461 sections 4.3 and 4.4.
    ...(limits.messageBytesMax !== null ? [`SIZE=${content.byteLength}`] : []),
    ...(content.is8Bit && limits.has8BitMime ? ['BODY=8BITMIME'] : []),
    ...(isUtf8 && limits.hasSmtpUtf8 ? ['SMTPUTF8'] : []),
    ...(limits.hasDsn ? ['RET=HDRS', `ENVID=${xtext(envelopeId)}`] : []),
  ]
  return {
    refusal:
      refusalOfAddress(envelope.from, limits, 'message', '5.1.7') ??
      refusalOfSize(content.byteLength, limits),
    mail: mail.join(' '),
    recipients: addresses.map(address => ({ address, line: recipientLine(address, limits) })),
    refused,
  }
}

/** RFC 3461 sections 4.1 and 4.2. An address beyond ASCII would need the form of RFC 6533, which few servers read. */
function recipientLine(address: string, { hasDsn }: Extensions): string {
  const line = `RCPT TO:<${address}>`
  if (!hasDsn) return line
  const original = isBeyondAscii(address) ? '' : ` ORCPT=rfc822;${xtext(address)}`
  return `${line} NOTIFY=FAILURE,DELAY${original}`
}

function refusalOfAddress(
  address: string,
  limits: Extensions,
  of: Refusal['of'],
  badStatus: string,
): Refusal | null {
  const refuse = (status: string, message: string) => ({
    of,
    isPermanent: true,
    isTooLarge: false,
    status,
    message,
  })
  if (!ADDRESS.test(address) || Buffer.byteLength(address) > ADDRESS_BYTES_MAX)
    return refuse(badStatus, 'This is not an address that can be sent to.')
  // RFC 6531 section 3.5.
  if (isBeyondAscii(address) && !limits.hasSmtpUtf8)
    return refuse('5.6.7', 'The server does not take addresses with characters beyond ASCII (SMTPUTF8).')
  return null
}

function refusalOfSize(bytes: number, { messageBytesMax }: Extensions): Refusal | null {
  if (messageBytesMax === null || bytes <= messageBytesMax) return null
  const message = `The message has ${bytes} bytes; the server takes at most ${messageBytesMax}.`
  return { of: 'message', isPermanent: true, isTooLarge: true, status: '5.3.4', message }
}

function isBeyondAscii(text: string): boolean {
  return /[^\u0000-\u007f]/.test(text)
}

/** RFC 3461 section 4. */
export function xtext(text: string): string {
  return text.replaceAll(
    /[^!-*,-<>-~]/g,
    character => `+${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
