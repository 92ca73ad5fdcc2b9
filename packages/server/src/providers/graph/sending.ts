import { ProviderFailure, restate } from '../failure.ts'
import type { OutgoingMessage, Refusal, SendingProvider, SendOutcome } from '../sending.ts'
import { serverText } from '../server-text.ts'
import { beforeAcceptance } from './answers.ts'
import type { GraphApi } from './api.ts'
import { pathOf } from './changing/messages.ts'
import { changing } from './changing/effect.ts'
import { removeForGood } from './changing/move.ts'
import type { GraphConnection } from './graph-connection.ts'
import { findEarlier, isOfMessage, lookUp } from './look-up.ts'
import { ignoredSchema } from './resources.ts'
import { SendPace } from './send-pace.ts'
import { type MadeDraft, makeDraft, TooLarge } from './uploads.ts'

/**
 * Sends by Microsoft Graph: a draft is made with all its files, and then sent. Its id, which stays, shows afterwards what
 * became of it.
 */
export function graphSending(connection: GraphConnection): SendingProvider {
  const pace = new SendPace()
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
    send: message => send(connection.api, pace, message),
    lookUp: message => lookUp(connection, message),
  }
}

async function send(api: GraphApi, pace: SendPace, message: OutgoingMessage): Promise<SendOutcome> {
  const { internetMessageId, mayBePrepared, signal } = message
  const accepted = (key: string, threadId: string | null): SendOutcome => ({
    recipients: message.envelope.to.map(address => ({ address, refusal: null })),
    given: { key, threadId },
  })
  try {
    if (mayBePrepared) {
      const { sent, drafts } = await beforeAcceptance(() => findEarlier(api, internetMessageId))
      if (sent !== null) return accepted(sent, null)
      await beforeAcceptance(() => remove(api, drafts))
    }
    pace.take(api.now())
    const draft = await prepare(api, message)
    await handOver(api, message, draft.id)
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

/** Makes the draft. Nothing is sent by that, whatever becomes of it. */
async function prepare(api: GraphApi, message: OutgoingMessage): Promise<MadeDraft> {
  const { content, internetMessageId, signal } = message
  const made: string[] = []
  try {
    const upload = { ...content, internetMessageId }
    return await makeDraft(api, null, upload, { signal, onMade: id => made.push(id) })
  } catch (error) {
    const isOpen = error instanceof ProviderFailure && !error.isBeforeAcceptance
    throw await withoutDrafts(api, made, isOpen ? restate(error, { isBeforeAcceptance: true }) : error)
  }
}

/**
 * Sends the draft by a request that cannot be taken back. Only 202 means that it was accepted. A refusal leaves the draft
 * unsent, and it is removed again.
 */
async function handOver(api: GraphApi, message: OutgoingMessage, draftId: string): Promise<void> {
  const { beforeHandOver, signal } = message
  let isHandedOver = false
  const giveUp = new AbortController()
  const abort = () => giveUp.abort(signal.reason)
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
        signal: giveUp.signal,
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
    throw await withoutDrafts(api, [draftId], failure)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** The draft was deleted, or changed, before it was sent; or Exchange does not find it yet. The next attempt makes another. */
function isMissing(error: unknown): error is ProviderFailure {
  return error instanceof ProviderFailure && (error.kind === 'not_found' || error.kind === 'conflict')
}

/** Removes drafts that are not sent. If that fails, too, the attempt counts, so that the next one looks for them. */
async function withoutDrafts(api: GraphApi, drafts: readonly string[], error: unknown): Promise<unknown> {
  try {
    await remove(api, drafts)
    return error
  } catch {
    if (!(error instanceof ProviderFailure) || !error.isBusy) return error
    return new ProviderFailure(error.kind, error.message, {
      cause: error,
      isBeforeAcceptance: error.isBeforeAcceptance,
      ...(error.retryAfterSeconds !== null && { retryAfterSeconds: error.retryAfterSeconds }),
    })
  }
}

async function remove(api: GraphApi, drafts: readonly string[]): Promise<void> {
  if (drafts.length === 0) return
  const { failure } = await changing(api, effect => removeForGood(api, effect, drafts))
  if (failure) throw failure
}
