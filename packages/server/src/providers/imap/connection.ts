import type { Writable } from 'node:stream'
import type { ImapFlow } from 'imapflow'
import type { ImapResponse } from 'imapflow/lib/handler/types.js'
import type { Notice } from '../mail.ts'
import { ProviderFailure, restate } from '../failure.ts'
import { serverText } from '../server-text.ts'
import type { AnswerGuard } from './answer-guard.ts'
import type { AnswerHandler, Command, CommandArguments } from './command.ts'
import { expectedAnswers } from './expected-answers.ts'
import { toFailure } from './failure.ts'
import { logOut } from './log-out.ts'
import { hearReports, type Notifications, withReports } from './notifications.ts'
import { hearUnasked, openMailbox, type Selected } from './open-mailbox.ts'
import { type ImapAttributeList, numberOf, responseText } from './values.ts'
import { type LiteralSender, literalSize, openLiteralSender } from './literal.ts'

/** A command may take long, but something must arrive in this time. */
const SILENCE_MS = 120_000
/** A connection that does not answer a NOOP in this time is dead. */
const KEEP_ALIVE_ANSWER_MS = 30_000

export interface ImapConnection extends AsyncDisposable {
  has(capability: string): boolean
  /** The number that a capability comes with, such as `APPENDLIMIT=…`; null if there is none. */
  limitOf(capability: string): number | null
  /** Runs one command to its end. Throws `ProviderFailure`. */
  run(command: Command): Promise<ImapResponse>
  /** Sends a NOOP, so that a dead connection is noticed. */
  poke(): Promise<void>
  /** Opens a mailbox for reading, and opens it again if it is already open. */
  examine(wireName: string): Promise<Selected>
  /** Opens a mailbox for changing it. */
  select(wireName: string): Promise<Selected>
  /** Leaves the open mailbox, if any. Removes nothing. */
  leave(): Promise<void>
  /** The open mailbox; `exists` is updated by what the server reports. */
  readonly selected: Selected | null
  /** What the server reported about the open mailbox since it was opened or since the last call. */
  takeNotice(): Notice
  /** Reports what the server says of other mailboxes, and ends an IDLE for news. */
  reportTo(notifications: Notifications): void
  /**
   * Waits in IDLE for a notice, `ms`, or the signal. Does not wait until IDLE has ended. @returns whether the server
   * ended it
   */
  idle(ms: number, signal: AbortSignal): Promise<'left' | 'ended_by_server'>
  /** Keeps a silent command from ending the connection while its answers wait for our caller. */
  pauseWatch(): () => void
  readonly isClosed: boolean
  /** Number of answers so far that were too long to be read. */
  readonly leftOut: number
  close(): void
}

/** The parts of ImapFlow that its types leave out, and that it offers for commands without a method. */
interface RawClient {
  exec(
    name: string,
    values: CommandArguments | false,
    options: {
      untagged?: Record<string, (answer: ImapResponse) => void | Promise<void>>
      onPlusTag?: () => void | Promise<void>
    },
  ): Promise<{ response: ImapResponse; next(): void }>
  write(line: string): void
  writeSocket: Writable
  untaggedHandlers: Record<string, () => void>
  sectionHandlers: Record<string, () => void>
}

const NO_NOTICE: Notice = { arrived: false, changed: false, gone: false }

/**
 * Sends commands over a logged-in connection of imapflow. `answerMs`: time limit for the answer to a NOOP.
 */
export function openConnection(
  client: ImapFlow,
  guard: AnswerGuard,
  answerMs = KEEP_ALIVE_ANSWER_MS,
): ImapConnection {
  const raw = client as unknown as RawClient
  // The capabilities came with the login; imapflow would store later ones without limit.
  raw.untaggedHandlers['CAPABILITY'] = () => {}
  raw.sectionHandlers['CAPABILITY'] = () => {}
  let selected: Selected | null = null
  let notice = NO_NOTICE
  let onNotice: (() => void) | null = null
  let notifications: Notifications | null = null
  let failure: unknown = null
  let pauses = 0
  let heardAt = performance.now()
  client.on('error', error => (failure ??= error))

  const note = (news: Partial<Notice>) => {
    notice = { ...notice, ...news }
    onNotice?.()
  }
  const reports = hearReports(() => notifications, {
    onNews: () => onNotice?.(),
    close: () => client.close(),
  })
  const listen = (answers: Record<string, AnswerHandler>) => {
    const untagged: Record<string, (answer: ImapResponse) => void | Promise<void>> = {}
    for (const [name, handle] of Object.entries(answers)) {
      untagged[name] = async answer => {
        heardAt = performance.now()
        const number = numberOf(answer.command)
        // A numbered answer has its name as its first value.
        const values = answer.attributes ?? []
        await (number === null ? handle(0, values) : handle(number, values.slice(1) as ImapAttributeList))
      }
    }
    return untagged
  }
  // Answers that no command asked for, which with NOTIFY also come while none is under way.
  Object.assign(raw.untaggedHandlers, listen({ ...hearUnasked(() => selected, note), ...reports }))
  /** Ends the connection if nothing was heard for too long and our side is not the cause. */
  const watchSilence = (silenceMsMax: number) => {
    const begunAt = performance.now()
    const timer = setInterval(
      () => {
        if (pauses > 0) heardAt = performance.now()
        if (performance.now() - Math.max(begunAt, heardAt) < silenceMsMax) return
        failure ??= new ProviderFailure('unavailable', 'The server stopped answering.')
        client.close()
      },
      Math.max(10, silenceMsMax / 8),
    )
    return () => clearInterval(timer)
  }
  const failed = (error: unknown) => toFailure(client.isClosed && failure ? failure : error)

  const pauseWatch = () => {
    pauses++
    return () => void pauses--
  }
  const run = async (command: Command) => {
    const { name, answers = {}, silenceMsMax = SILENCE_MS, literal } = command
    if (client.isClosed) throw restate(failed(new Error('it is closed')), { isBeforeAcceptance: true })
    const values = [...(command.arguments ?? []), ...(literal ? [literalSize(literal)] : [])]
    const sender: LiteralSender | null = literal
      ? openLiteralSender({ literal, socket: raw.writeSocket, close: () => client.close(), pauseWatch })
      : null
    const endWatch = watchSilence(silenceMsMax)
    guard.expect(expectedAnswers(command, selected?.exists ?? 0))
    try {
      const { response, next } = await raw.exec(name, values.length > 0 ? values : false, {
        untagged: listen(withReports(answers, reports)),
        ...(sender && { onPlusTag: sender.begin }),
      })
      next()
      requireDone(name, response)
      sender?.requireSent()
      return response
    } catch (error) {
      throw sender ? sender.describe(failed(error)) : failed(error)
    } finally {
      sender?.end()
      guard.expect(null)
      endWatch()
    }
  }

  const open = async (name: 'EXAMINE' | 'SELECT', wireName: string) => {
    selected = null
    const opened = await openMailbox(run, name, wireName)
    // Some servers report mod-sequences without announcing the extension that they belong to.
    if (!client.capabilities.has('CONDSTORE') && !client.capabilities.has('QRESYNC'))
      opened.highestModseq = null
    selected = opened
    notice = NO_NOTICE
    notifications?.opened(wireName)
    return opened
  }
  /** @returns false if the mailbox is gone: then none is open any more (RFC 9051 section 6.3.2) */
  const isExamined = async (wireName: string) => {
    try {
      await openMailbox(run, 'EXAMINE', wireName)
      return true
    } catch (error) {
      if (client.isClosed) throw error
      return false
    }
  }

  return {
    has: capability => client.capabilities.has(capability),
    limitOf(capability) {
      const value = client.capabilities.get(capability)
      return typeof value === 'number' ? value : null
    },
    run,
    async poke() {
      await run({ name: 'NOOP', silenceMsMax: answerMs })
    },
    get selected() {
      return selected
    },
    get isClosed() {
      return client.isClosed
    },
    get leftOut() {
      return guard.leftOut
    },
    close: () => client.close(),
    pauseWatch,
    reportTo(to) {
      notifications = to
    },
    takeNotice() {
      const taken = { ...notice }
      notice = NO_NOTICE
      return taken
    },
    examine: wireName => open('EXAMINE', wireName),
    select: wireName => open('SELECT', wireName),
    async leave() {
      if (!selected) return
      const { isWritable, wireName } = selected
      selected = null
      if (client.capabilities.has('UNSELECT')) return void (await run({ name: 'UNSELECT' }))
      // CLOSE expunges unless the mailbox was opened by EXAMINE (RFC 9051 section 6.4.1).
      if (isWritable && !(await isExamined(wireName))) return
      await run({ name: 'CLOSE' })
    },
    async idle(ms, signal) {
      let isReady = false
      let isEnded = false
      const { promise, resolve, reject } = Promise.withResolvers<'left' | 'ended_by_server'>()
      const end = () => {
        if (isEnded) return
        isEnded = true
        // RFC 2177: DONE only after the server's continuation.
        if (isReady) sayDone()
        resolve('left')
      }
      let endWatch: (() => void) | null = null
      const sayDone = () => {
        if (client.isClosed) return
        endWatch = watchSilence(answerMs)
        try {
          raw.write('DONE')
        } catch {
          // The server said BYE, or its end of the connection is gone: imapflow takes no more words for it.
          client.close()
        }
      }
      const timer = setTimeout(end, ms)
      signal.addEventListener('abort', end, { once: true })
      onNotice = end
      endWatch = watchSilence(answerMs)
      const onPlusTag = () => {
        if (isReady) return
        isReady = true
        endWatch?.()
        if (isEnded) sayDone()
      }
      const stayIdle = async () => {
        try {
          const { next } = await raw.exec('IDLE', false, { onPlusTag })
          next()
          isEnded = true
          resolve('ended_by_server')
        } catch (error) {
          reject(failed(error))
        } finally {
          endWatch?.()
        }
      }
      void stayIdle()
      try {
        if (signal.aborted || notice !== NO_NOTICE) end()
        return await promise
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        onNotice = null
      }
    },
    async [Symbol.asyncDispose]() {
      await logOut(client)
    },
  }
}

/** Their callers ask for what the answers left out, so a refusal of a part is no failure. */
const ANSWERED_IN_PART = new Set(['UID FETCH', 'UID STORE'])

/**
 * Throws unless a command was carried out. imapflow takes BYE for OK, and so a NO that says that some messages no longer
 * exist: but a COPY that is refused for that reason has copied none.
 */
function requireDone(name: string, response: ImapResponse): void {
  const status = response.command?.toUpperCase()
  if (status === 'OK' || (status === 'NO' && ANSWERED_IN_PART.has(name))) return
  const text = responseText(response.attributes)
  if (status === 'NO') throw toFailure({ responseStatus: status, responseText: text, response })
  throw new ProviderFailure('unavailable', `The server ended the session: ${serverText(text)}`)
}
