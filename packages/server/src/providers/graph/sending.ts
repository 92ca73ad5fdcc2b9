import { beforeAcceptance, ProviderFailure, restate } from '../failure.ts'
import type { OutgoingMessage, Prepared, Refusal, SendingProvider, SendOutcome } from '../sending.ts'
import { serverText } from '../server-text.ts'
import type { GraphApi } from './api.ts'
import { batchesOf, pathOf, readStates, type TaggedState } from './changing/messages.ts'
import { changing } from './changing/effect.ts'
import { removeForGood } from './changing/move.ts'
import type { GraphConnection } from './graph-connection.ts'
import { findEarlier, isOfMessage, lookUp, sentWithId } from './look-up.ts'
import { ignoredSchema } from './resources.ts'
import { type SendPace, UNPACED } from './send-pace.ts'
import { isMissing, type MadeDraft, makeDraft, TooLarge } from './uploads.ts'

/**
 * Sends by Microsoft Graph: a draft is made with all its files, and then sent. Its id, which stays, shows afterwards what
 * became of it.
 */
export function graphSending(connection: GraphConnection, pace = UNPACED): SendingProvider {
  return {
    limits: {
      messageBytesMax: null,
      has8BitMime: true,
      // Exchange reads raw UTF-8 in a header as it likes.
      hasSmtpUtf8: false,
      hasDsn: false,
      readsHeader: true,
    },
    filesCopy: 'always',
    send: message => send(connection, pace, message),
    lookUp: message => lookUp(connection, message),
    discard: message => discard(connection.api, message),
  }
}

async function send(
  connection: GraphConnection,
  pace: SendPace,
  message: OutgoingMessage,
): Promise<SendOutcome> {
  const { api } = connection
  const { internetMessageId, mayBePrepared, signal } = message
  const accepted = (key: string | null, threadId: string | null): SendOutcome => ({
    recipients: message.envelope.to.map(address => ({ address, refusal: null })),
    given: { key, threadId },
  })
  try {
    if (mayBePrepared) {
      const sent = await beforeAcceptance(() => clearEarlier(connection, internetMessageId))
      if (sent !== null) return accepted(sent.key, null)
    }
    await pace.take()
    await message.beforePreparing()
    const draft = await prepare(api, message)
    if (!draft.isSent) await handOver(api, message, draft.id)
    return accepted(draft.id, draft.conversationId ?? null)
  } catch (error) {
    if (signal.aborted && error === signal.reason)
      throw new ProviderFailure('unavailable', 'The send was stopped.', {
        cause: error,
        isBeforeAcceptance: true,
      })
    // Graph does not name the address that it refuses.
    if (isOfMessage(error) && error.isBeforeAcceptance) return refuse(message, error)
    throw error
  }
}

const TOO_LARGE = /\b413\b|too large|size limit|ErrorMessageSizeExceeded|maximum size/i

function refuse({ envelope }: OutgoingMessage, error: ProviderFailure): SendOutcome {
  const isTooLarge = error instanceof TooLarge || TOO_LARGE.test(error.message)
  const refusal: Refusal = {
    of: 'message',
    isPermanent: true,
    isTooLarge,
    status: isTooLarge ? '5.3.4' : '5.0.0',
    message: serverText(error.message),
  }
  return {
    recipients: envelope.to.map(address => ({ address, refusal })),
    given: { key: null, threadId: null },
  }
}

/** Removes the drafts of earlier attempts. @returns the message if it was sent after all */
async function clearEarlier(
  { api, delegate }: GraphConnection,
  internetMessageId: string,
): Promise<{ key: string | null } | null> {
  const { sent, drafts } = await findEarlier(api, internetMessageId)
  const key = sent ?? sentOf(await removeUnsent(api, drafts))
  if (key !== null) return { key }
  // Exchange may have filed the copy with the delegate. The index of this mailbox has no such key.
  return delegate && (await sentWithId(delegate, internetMessageId)) ? { key: null } : null
}

/** `SendingProvider.discard` on Graph. */
async function discard(api: GraphApi, { internetMessageId, trace }: Prepared): Promise<void> {
  const { drafts } = await findEarlier(api, internetMessageId)
  const { failure } = await removeUnsent(api, [...new Set(trace === null ? drafts : [...drafts, trace])])
  if (failure) throw failure
}

/** Makes the draft, which is sent already if a person was quicker. */
async function prepare(
  api: GraphApi,
  message: OutgoingMessage,
): Promise<Pick<MadeDraft, 'id' | 'conversationId'> & { isSent: boolean }> {
  const { content, internetMessageId, signal } = message
  const made: string[] = []
  try {
    const upload = { ...content, internetMessageId }
    const draft = await makeDraft(api, null, upload, { signal, onMade: id => made.push(id) })
    return { ...draft, isSent: false }
  } catch (error) {
    const isOpen = error instanceof ProviderFailure && !error.isBeforeAcceptance
    const failure = isOpen ? restate(error, { isBeforeAcceptance: true }) : error
    return { id: await giveUp(api, made, failure), isSent: true }
  }
}

/**
 * Sends the draft by a request that cannot be taken back. Only 202 means that it was accepted. A refusal leaves the draft
 * unsent, and it is removed again.
 */
async function handOver(api: GraphApi, message: OutgoingMessage, draftId: string): Promise<void> {
  const { beforeHandOver, signal } = message
  let isHandedOver = false
  const stopping = new AbortController()
  const abort = () => stopping.abort(signal.reason)
  try {
    signal.throwIfAborted()
    signal.addEventListener('abort', abort, { once: true })
    await api.ask(
      {
        method: 'POST',
        path: `${pathOf(draftId)}/send`,
        schema: ignoredSchema,
        accepts: [202],
      },
      {
        signal: stopping.signal,
        async beforeEffect() {
          if (isHandedOver) return
          await beforeHandOver(draftId)
          isHandedOver = true
          // The answer to a hand-over is awaited.
          signal.removeEventListener('abort', abort)
        },
      },
    )
  } catch (error) {
    const isCertain = !isHandedOver || (error instanceof ProviderFailure && error.isBeforeAcceptance)
    if (!isCertain) throw error
    const failure = isMissing(error)
      ? restate(error, { kind: 'unavailable', isBeforeAcceptance: true })
      : error
    await giveUp(api, [draftId], failure)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/**
 * Ends an attempt with its error, unless its draft was sent meanwhile. If its drafts cannot be removed, the attempt
 * counts, so that the next one looks for them.
 * @returns the id of the sent message
 */
async function giveUp(api: GraphApi, drafts: readonly string[], error: unknown): Promise<string> {
  const isFailure = error instanceof ProviderFailure
  let sent: string | null
  try {
    sent = sentOf(await removeUnsent(api, drafts))
  } catch {
    throw isFailure && error.isBusy ? restate(error, { isBusy: false }) : error
  }
  if (sent === null || !isFailure) throw error
  return sent
}

/** The drafts of a send, of which those that were not sent were to be removed. */
interface Removal {
  /** The id of a message that was sent. */
  sent: string | null
  /** A failure to remove a draft. */
  failure: ProviderFailure | null
}

function sentOf({ sent, failure }: Removal): string | null {
  if (failure && sent === null) throw failure
  return sent
}

/** Removes drafts. A message that was sent meanwhile, by an earlier request or by a person, is no draft, and stays. */
async function removeUnsent(api: GraphApi, ids: readonly string[]): Promise<Removal> {
  const found: TaggedState[] = []
  for (const keys of batchesOf({ keys: ids }))
    found.push(...(await readStates(api, keys)).states.map(({ value }) => value))
  const drafts = found.flatMap(({ id, isDraft }) => (isDraft === true ? [id] : []))
  const sent = found.find(({ isDraft }) => isDraft === false)?.id ?? null
  if (drafts.length === 0) return { sent, failure: null }
  const { failure } = await changing(api, effect => removeForGood(api, effect, drafts))
  return { sent, failure }
}
