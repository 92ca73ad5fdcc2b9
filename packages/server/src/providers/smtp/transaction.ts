import { ProviderFailure } from '../failure.ts'
import type { OutgoingMessage, RecipientOutcome, Refusal, SendOutcome } from '../sending.ts'
import { DamagedContent, stuffed } from './content.ts'
import { type EnvelopePlan, planEnvelope } from './envelope.ts'
import {
  beforeAcceptance,
  isAboutAccount,
  isOneTooMany,
  outcomeUnknown,
  refusalOf,
  sessionFailure,
} from './failure.ts'
import type { Reply } from './reply.ts'
import type { SmtpSession } from './session.ts'
import type { SmtpWire } from './wire.ts'

/** RFC 5321 section 4.5.3.2: how long a client waits for each reply, and for a block of the content to be taken. */
const ENVELOPE_SECONDS = 5 * 60
const DATA_SECONDS = 2 * 60
const BLOCK_SECONDS = 3 * 60
/** Giving up earlier would send a message twice that the server is still working on (RFC 1047). */
const DOT_SECONDS = 10 * 60
/** All replies to MAIL and RCPT together. */
const ENVELOPE_SECONDS_MAX = 15 * 60
/** Time limit for the whole content: this, and a second for each `CONTENT_BYTES_PER_SECOND_MIN` bytes. */
const CONTENT_SECONDS = 10 * 60
const CONTENT_BYTES_PER_SECOND_MIN = 10_000

/** Hands one message over, with its own envelope and its own bytes. See `SendingProvider.send`. */
export async function hand(session: SmtpSession, message: OutgoingMessage): Promise<SendOutcome> {
  const { wire } = session
  const plan = planEnvelope(message, session.extensions)
  const outcome = new Outcome(message.envelope.to, plan)
  if (plan.refusal || plan.recipients.length === 0) return outcome.end(plan.refusal)
  const giveUp = () => wire.giveUp('It was given up.')
  message.signal.addEventListener('abort', giveUp, { once: true })
  if (message.signal.aborted) giveUp()
  try {
    const refusal = await sendEnvelope(session, plan, outcome)
    if (refusal || outcome.accepted === 0) return outcome.end(refusal)
    const unwanted = await askForData(wire)
    if (unwanted) return outcome.end(unwanted)
    const failed = await sendContent(wire, message)
    if (failed) return outcome.end(failed)
    message.signal.removeEventListener('abort', giveUp)
    await message.beforeHandOver(null)
  } catch (error) {
    // The content may have begun and has no end: only the end of the connection keeps it from being accepted.
    const failure = beforeAcceptance(error)
    wire.destroy(failure)
    throw error instanceof ProviderFailure ? failure : error
  } finally {
    message.signal.removeEventListener('abort', giveUp)
  }
  return outcome.end(await endContent(wire))
}

/** Collects the outcome of each recipient. */
class Outcome {
  readonly #to: readonly string[]
  readonly #refusals: Map<string, Refusal | null>
  accepted = 0

  constructor(to: readonly string[], { refused }: EnvelopePlan) {
    this.#to = to
    this.#refusals = new Map(refused.map(({ address, refusal }) => [address, refusal]))
  }

  add(address: string, refusal: Refusal | null): void {
    this.#refusals.set(address, refusal)
    if (!refusal) this.accepted++
  }

  /** @param refusal of the whole message, which then counts for all who were not refused before */
  end(refusal: Refusal | null): SendOutcome {
    const recipients: RecipientOutcome[] = this.#to.map(address => ({
      address,
      refusal: this.#refusals.get(address) ?? refusal,
    }))
    return { recipients, given: { key: null, threadId: null } }
  }
}

/** MAIL and each RCPT. Returns the refusal of MAIL. */
async function sendEnvelope(
  { wire, extensions }: SmtpSession,
  plan: EnvelopePlan,
  outcome: Outcome,
): Promise<Refusal | null> {
  const until = performance.now() + ENVELOPE_SECONDS_MAX * 1000
  const read = () => wire.read(Math.min(ENVELOPE_SECONDS, secondsUntil(until)))
  const lines = plan.recipients.map(({ line }) => line)
  if (extensions.hasPipelining) wire.ask(plan.mail, ...lines)
  else wire.ask(plan.mail)
  const mail = await read()
  if (isAboutAccount(mail)) throw accountFailure(mail)
  const refusal = mail.code === 250 ? null : refusalOf('message', required(mail, 250))
  if (refusal && !extensions.hasPipelining) return refusal
  if (refusal?.isPermanent) {
    await skipReplies(plan.recipients.length, read)
    return refusal
  }
  for (const { address, line } of plan.recipients) {
    if (!extensions.hasPipelining) wire.ask(line)
    const reply = await read()
    if (reply.code === 421) throw accountFailure(reply)
    if (refusal) continue
    const isAccepted = reply.code >= 250 && reply.code <= 252
    outcome.add(address, isAccepted ? null : recipientRefusal(required(reply, 250), outcome.accepted))
  }
  return refusal
}

/** Reads the replies to the recipients of a refused sender. A server that disconnects instead needs no more. */
async function skipReplies(count: number, read: () => Promise<Reply>): Promise<void> {
  try {
    for (let left = count; left > 0; left--) if ((await read()).code === 421) return
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
  }
}

/** A server that limits the recipients of one message takes the others with the next attempt. */
function recipientRefusal(reply: Reply, accepted: number): Refusal {
  const refusal = refusalOf('recipient', reply)
  return accepted > 0 && isOneTooMany(reply) ? { ...refusal, isPermanent: false } : refusal
}

async function askForData(wire: SmtpWire): Promise<Refusal | null> {
  const reply = await wire.command('DATA', DATA_SECONDS)
  if (reply.code === 421) throw accountFailure(reply)
  return reply.code === 354 ? null : refusalOf('message', required(reply, 354))
}

/**
 * Sends the content up to its dot. A connection that ends here may do so because of this message, so that counts as a
 * temporary refusal of the message and holds up no other.
 */
async function sendContent(wire: SmtpWire, { content }: OutgoingMessage): Promise<Refusal | null> {
  const seconds = CONTENT_SECONDS + content.byteLength / CONTENT_BYTES_PER_SECOND_MIN
  const until = performance.now() + seconds * 1000
  wire.expectReply()
  try {
    for await (const bytes of stuffed(content)) {
      if (wire.hasReply) return await earlyRefusal(wire)
      await wire.send(bytes, Math.min(BLOCK_SECONDS, secondsUntil(until))).catch((error: unknown) => {
        throw new LostContent(error)
      })
    }
    return wire.hasReply ? await earlyRefusal(wire) : null
  } catch (error) {
    if (error instanceof DamagedContent) return abandon(wire, true, '5.6.0', error.message)
    if (!(error instanceof LostContent)) throw error
    const failure = beforeAcceptance(error.cause)
    if (wire.isGivenUp) throw failure
    return abandon(
      wire,
      false,
      '4.4.2',
      `The connection ended while the message was sent: ${failure.message}`,
    )
  }
}

/** The connection was lost, as opposed to an error of the content's source. */
class LostContent extends Error {
  constructor(cause: unknown) {
    super('the connection was lost', { cause })
  }
}

/** A server that answers before the dot has accepted nothing, and takes further bytes for commands. */
async function earlyRefusal(wire: SmtpWire): Promise<Refusal> {
  const reply = await wire.read(0)
  if (reply.code === 421) throw accountFailure(reply)
  const refusal = refusalOf('message', required(reply, 250))
  wire.destroy(new ProviderFailure('unavailable', 'The server ended the message early.'))
  return refusal
}

function secondsUntil(time: number): number {
  return Math.max(1, (time - performance.now()) / 1000)
}

function abandon(wire: SmtpWire, isPermanent: boolean, status: string, message: string): Refusal {
  wire.destroy(new ProviderFailure('unavailable', message))
  return { of: 'message', isPermanent, isTooLarge: false, status, message }
}

/** Sends the dot and waits for the outcome of the message. */
async function endContent(wire: SmtpWire): Promise<Refusal | null> {
  if (!wire.isOpen && !wire.hasReply) throw accountLost()
  if (wire.hasReply) return earlyRefusal(wire)
  let reply: Reply
  try {
    await wire.send('.\r\n', DOT_SECONDS)
    reply = await wire.read(DOT_SECONDS)
  } catch (error) {
    throw outcomeUnknown(error)
  }
  if (reply.code === 421) throw accountFailure(reply)
  if (reply.code >= 400) return refusalOf('message', reply)
  if (reply.code < 300) return null
  wire.destroy(new ProviderFailure('unavailable', 'The server gave an answer that means nothing here.'))
  throw outcomeUnknown(sessionFailure('The server answered', reply))
}

function accountLost(): ProviderFailure {
  return new ProviderFailure('unavailable', 'The server closed the connection.', { isBeforeAcceptance: true })
}

function accountFailure(reply: Reply): ProviderFailure {
  if (reply.code === 530) {
    return new ProviderFailure('login_failed', 'The server wants a login, but offers none.', {
      isBeforeAcceptance: true,
    })
  }
  return sessionFailure('The server takes no mail of this account now', reply)
}

/** A refusal; an accepting or half-way code other than the one that fits is no answer at all. */
function required(reply: Reply, code: number): Reply {
  if (reply.code >= 400) return reply
  throw new ProviderFailure('unavailable', `The server answered ${reply.code} in place of ${code}.`, {
    isBeforeAcceptance: true,
  })
}
