import { Socket } from 'node:net'
import { Client, type QueryResultRow } from 'pg'
import { clientSettings, type DatabaseAddress } from './pool.ts'
import { limitSession } from './session-limits.ts'
import { DatabaseUnavailable, lostConnection } from './unavailable.ts'

/**
 * One connection for statements whose answer would be useless later. A statement that is not answered in time, measured
 * by this process, rejects, and its connection is closed at once. The next statement opens another.
 */
export class TimedConnection implements Disposable {
  readonly #address: DatabaseAddress
  readonly #applicationName: string
  readonly #answerSeconds: number
  #open: { client: Client; connected: Promise<unknown>; socket: Socket; isConnected: boolean } | null = null

  constructor(address: DatabaseAddress, applicationName: string, answerSeconds: number) {
    this.#address = address
    this.#applicationName = applicationName
    this.#answerSeconds = answerSeconds
  }

  /**
   * Runs one statement at a time; connecting counts towards its time. @throws DatabaseUnavailable, or the error of the
   * statement
   */
  async query<Row extends QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      reject(new DatabaseUnavailable(new Error(`no answer within ${this.#answerSeconds} s`), true))
    }, this.#answerSeconds * 1_000)
    try {
      return await Promise.race([this.#ask<Row>(text, values), late])
    } catch (error) {
      this[Symbol.dispose]()
      throw lostConnection(error, { text, isInTransaction: false }) ?? error
    } finally {
      clearTimeout(timer)
    }
  }

  async #ask<Row extends QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    const open = (this.#open ??= this.#connect())
    await open.connected.catch((error: unknown) => {
      throw new DatabaseUnavailable(error, false)
    })
    open.isConnected = true
    return (await open.client.query<Row>(text, values)).rows
  }

  #connect() {
    const socket = new Socket()
    const client = new Client({
      ...clientSettings(this.#address, this.#applicationName),
      stream: () => socket,
    })
    client.on('error', () => {}) // the running statement, or the next one, rejects
    const connected = client
      .connect()
      .then(() => limitSession(client, { statementSeconds: this.#answerSeconds }))
    return { client, connected, socket, isConnected: false }
  }

  /** Closes the connection; a running statement rejects. */
  [Symbol.dispose](): void {
    const open = this.#open
    this.#open = null
    if (!open) return
    // `end` closes at once if a statement is running, but waits for a connection that is being opened.
    if (open.isConnected) open.client.end().catch(() => {})
    else open.socket.destroy()
  }
}
