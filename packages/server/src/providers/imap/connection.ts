import type { Writable } from 'node:stream'
import type { ImapFlow } from 'imapflow'
import type { ImapResponse } from 'imapflow/lib/handler/types.js'
import type { Notice } from '../mail.ts'
import { ProviderFailure, restate } from '../failure.ts'
import type { AnswerGuard } from './answer-guard.ts'
import type { AnswerHandler, Command, CommandArguments, CommandConnection } from './command.ts'
import { expectedAnswers } from './expected-answers.ts'
import { requireDone, toFailure } from './failure.ts'
import { logOut } from './log-out.ts'
import { hearReports, type Notifications, withReports } from './notifications.ts'
import { hearUnasked, openMailbox, type Selected } from './open-mailbox.ts'
import { type ImapAttributeList, numberOf } from './values.ts'
import { type LiteralSender, literalSize, openLiteralSender } from './literal.ts'

/** A command may take long, but something must arrive in this time. */
const SILENCE_MS = 120_000
/** A connection that does not answer a NOOP in this time is dead. */
const KEEP_ALIVE_ANSWER_MS = 30_000

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
  rawCapabilities: unknown
  connectTimeout: unknown
  greetingTimeout: unknown
}

const NO_NOTICE: Notice = { arrived: false, changed: false, gone: false }

/** Sends commands over a logged-in connection of imapflow. Thousands of idle accounts keep one each. */
export class ImapConnection implements CommandConnection, AsyncDisposable {
  readonly #client: ImapFlow
  readonly #raw: RawClient
  readonly #guard: AnswerGuard
  readonly #answerMs: number
  readonly #reports: Record<string, AnswerHandler>
  #selected: Selected | null = null
  #notice = NO_NOTICE
  #onNotice: (() => void) | null = null
  #notifications: Notifications | null = null
  #failure: unknown = null
  #pauses = 0
  #heardAt = performance.now()

  /** @param answerMs time limit for the answer to a NOOP */
  constructor(client: ImapFlow, guard: AnswerGuard, answerMs = KEEP_ALIVE_ANSWER_MS) {
    this.#client = client
    this.#raw = client as unknown as RawClient
    this.#guard = guard
    this.#answerMs = answerMs
    // The capabilities came with the login, and are kept as a map; imapflow would store later ones without limit.
    this.#raw.rawCapabilities = null
    // Both are over.
    this.#raw.connectTimeout = null
    this.#raw.greetingTimeout = null
    this.#raw.untaggedHandlers['CAPABILITY'] = () => {}
    this.#raw.sectionHandlers['CAPABILITY'] = () => {}
    client.on('error', error => (this.#failure ??= error))
    const callbacks = { onNews: () => this.#onNotice?.(), close: () => this.close() }
    this.#reports = hearReports(() => this.#notifications, callbacks)
    const note = (news: Partial<Notice>) => {
      this.#notice = { ...this.#notice, ...news }
      this.#onNotice?.()
    }
    const unasked = hearUnasked(() => this.#selected, note)
    // Unsolicited answers, which with NOTIFY also come while no command is under way.
    Object.assign(this.#raw.untaggedHandlers, this.#listen({ ...unasked, ...this.#reports }))
  }

  has(capability: string): boolean {
    return this.#client.capabilities.has(capability)
  }

  /** The number that a capability comes with, such as `APPENDLIMIT=…`; null if there is none. */
  limitOf(capability: string): number | null {
    const value = this.#client.capabilities.get(capability)
    return typeof value === 'number' ? value : null
  }

  /** The open mailbox; reports of the server update `exists`. */
  get selected(): Selected | null {
    return this.#selected
  }

  get isClosed(): boolean {
    return this.#client.isClosed
  }

  /** Number of answers so far that were too long to be read. */
  get leftOut(): number {
    return this.#guard.countLeftOut()
  }

  close(): void {
    this.#client.close()
  }

  /** Passes on the server's reports about other mailboxes, and ends an IDLE for news. */
  reportTo(notifications: Notifications): void {
    this.#notifications = notifications
  }

  /** Returns the server's reports about the open mailbox since it was opened or since the last call. */
  takeNotice(): Notice {
    const taken = { ...this.#notice }
    this.#notice = NO_NOTICE
    return taken
  }

  /** Keeps a silent command from ending the connection while its answers wait for our caller. */
  pauseWatch(): () => void {
    this.#pauses++
    return () => void this.#pauses--
  }

  /** Runs one command to its end. Throws `ProviderFailure`. */
  async run(command: Command): Promise<ImapResponse> {
    const { name, answers = {}, silenceMsMax = SILENCE_MS, literal } = command
    if (this.isClosed)
      throw restate(
        this.#failed(new ProviderFailure('unavailable', 'The connection to the server has ended.')),
        { isBeforeAcceptance: true },
      )
    const values = [...(command.arguments ?? []), ...(literal ? [literalSize(literal)] : [])]
    const sender: LiteralSender | null = literal
      ? openLiteralSender({
          literal,
          socket: this.#raw.writeSocket,
          close: () => this.close(),
          pauseWatch: () => this.pauseWatch(),
        })
      : null
    const endWatch = this.#watchSilence(silenceMsMax)
    this.#guard.expect(expectedAnswers(command, this.#selected?.exists ?? 0))
    try {
      const { response, next } = await this.#raw.exec(name, values.length > 0 ? values : false, {
        untagged: this.#listen(withReports(answers, this.#reports)),
        ...(sender && { onPlusTag: sender.begin }),
      })
      next()
      requireDone(name, response)
      sender?.requireSent()
      return response
    } catch (error) {
      throw sender ? sender.describe(this.#failed(error)) : this.#failed(error)
    } finally {
      sender?.end()
      this.#guard.expect(null)
      endWatch()
    }
  }

  /** Sends a NOOP, so that a dead connection is noticed. */
  async poke(): Promise<void> {
    await this.run({ name: 'NOOP', silenceMsMax: this.#answerMs })
  }

  /** The mailbox of this name if it is open, and nothing suggests that it was renamed: see `reopenIfEmptied`. */
  findOpen(wireName: string): Selected | null {
    return this.#selected?.wireName === wireName && !this.#selected.wasEmptied ? this.#selected : null
  }

  /** Opens a mailbox for reading, and opens it again if it is already open. */
  examine(wireName: string): Promise<Selected> {
    return this.#open('EXAMINE', wireName)
  }

  /** Opens a mailbox for changing it. */
  select(wireName: string): Promise<Selected> {
    return this.#open('SELECT', wireName)
  }

  /**
   * Cyrus reports a mailbox that another client renames while it is open here as if all its messages had been removed:
   * searches find nothing, and succeed. Before anyone concludes that they are gone, this opens such a mailbox again.
   * Throws `ProviderFailure` unless it is the same mailbox, and empty.
   */
  async reopenIfEmptied(): Promise<void> {
    const before = this.#selected
    if (!before?.wasEmptied) return
    const notice = this.#notice
    const now = await (before.isWritable ? this.select(before.wireName) : this.examine(before.wireName))
    this.#notice = notice
    if (now.uidValidity !== before.uidValidity || now.exists > 0)
      throw new ProviderFailure('unavailable', 'The mailbox was changed while it was being read.')
  }

  /** Leaves the open mailbox, if any. Removes nothing. */
  async leave(): Promise<void> {
    if (!this.#selected) return
    const { isWritable, wireName } = this.#selected
    this.#selected = null
    if (this.has('UNSELECT')) return void (await this.run({ name: 'UNSELECT' }))
    // CLOSE expunges unless the mailbox was opened by EXAMINE (RFC 9051 section 6.4.1).
    if (isWritable && !(await this.#isExamined(wireName))) return
    await this.run({ name: 'CLOSE' })
  }

  /**
   * Waits in IDLE for a notice, `ms`, or the signal. Does not wait until IDLE has ended. @returns whether the server
   * ended it
   */
  async idle(ms: number, signal: AbortSignal): Promise<'left' | 'ended_by_server'> {
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
      if (this.isClosed) return
      endWatch = this.#watchSilence(this.#answerMs)
      try {
        this.#raw.write('DONE')
      } catch {
        // The server sent BYE, or its end of the connection is gone: imapflow accepts no more commands.
        this.close()
      }
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
    this.#onNotice = end
    endWatch = this.#watchSilence(this.#answerMs)
    const onPlusTag = () => {
      if (isReady) return
      isReady = true
      endWatch?.()
      endWatch = null
      if (isEnded) sayDone()
    }
    const stayIdle = async () => {
      try {
        const { next } = await this.#raw.exec('IDLE', false, { onPlusTag })
        next()
        isEnded = true
        resolve('ended_by_server')
      } catch (error) {
        reject(this.#failed(error))
      } finally {
        endWatch?.()
      }
    }
    void stayIdle()
    try {
      if (signal.aborted || this.#notice !== NO_NOTICE) end()
      return await promise
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      this.#onNotice = null
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await logOut(this.#client)
  }

  #listen(answers: Record<string, AnswerHandler>) {
    const untagged: Record<string, (answer: ImapResponse) => void | Promise<void>> = {}
    for (const [name, handle] of Object.entries(answers)) {
      untagged[name] = async answer => {
        this.#heardAt = performance.now()
        const number = numberOf(answer.command)
        // A numbered answer has its name as its first value.
        const values = answer.attributes ?? []
        await (number === null ? handle(0, values) : handle(number, values.slice(1) as ImapAttributeList))
      }
    }
    return untagged
  }

  /** Ends the connection if nothing arrived for too long and our side is not the cause. */
  #watchSilence(silenceMsMax: number): () => void {
    const begunAt = performance.now()
    const timer = setInterval(
      () => {
        if (this.#pauses > 0) this.#heardAt = performance.now()
        if (performance.now() - Math.max(begunAt, this.#heardAt) < silenceMsMax) return
        this.#failure ??= new ProviderFailure('unavailable', 'The server stopped answering.')
        this.close()
      },
      Math.max(10, silenceMsMax / 8),
    )
    return () => clearInterval(timer)
  }

  #failed(error: unknown): ProviderFailure {
    return toFailure(this.isClosed && this.#failure ? this.#failure : error)
  }

  async #open(name: 'EXAMINE' | 'SELECT', wireName: string): Promise<Selected> {
    this.#selected = null
    const opened = await openMailbox(command => this.run(command), name, wireName)
    // Some servers report mod-sequences without announcing the extension that they belong to.
    if (!this.has('CONDSTORE') && !this.has('QRESYNC')) opened.highestModseq = null
    this.#selected = opened
    this.#notice = NO_NOTICE
    this.#notifications?.opened(wireName)
    return opened
  }

  /** @returns false if the mailbox is gone: then none is open any more (RFC 9051 section 6.3.2) */
  async #isExamined(wireName: string): Promise<boolean> {
    try {
      await openMailbox(command => this.run(command), 'EXAMINE', wireName)
      return true
    } catch (error) {
      if (this.isClosed) throw error
      return false
    }
  }
}
