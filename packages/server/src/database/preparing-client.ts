import type { Writable } from 'node:stream'
import type { PostgresPoolClient } from 'kysely'
import type { PoolClient, QueryResult } from 'pg'
import { sendFlight, type Statement } from './flight.ts'
import { lostConnection, type DatabaseUnavailable } from './unavailable.ts'
import { HELD, UNAWAITED } from './unawaited.ts'

const TRANSACTION_BEGINS = /^(?:begin|start transaction)/
const TRANSACTION_ENDS = /^(?:commit|rollback)$/
/** Result of a statement that nobody waits for. */
const UNANSWERED = { command: '', rowCount: null, rows: [] }

/**
 * A view of a client of the pool for Kysely: statements with parameters are prepared once per connection, under a name.
 * Nobody waits for the begin of a transaction, nor for statements with the parameter `UNAWAITED`: they are sent with the
 * next statement, which fails with their error. Statements with the parameter `HELD` are sent with it as well; outside of a
 * transaction each is one of its own. A statement that a rollback finds unsent is never sent.
 */
export function preparingClient(
  client: PoolClient,
  nameOf: (text: string) => string | undefined,
  onFailure: (error: unknown) => void,
): PostgresPoolClient {
  let isStale = false
  let isInTransaction = false
  let lost: DatabaseUnavailable | null = null
  let unsent = newFlight()
  let isHolding = false

  /** Keeps what is sent until `sendHeld`: each write to the socket costs as much as a small statement. */
  function hold(): void {
    if (!isHolding) socketOf(client).cork()
    isHolding = true
  }

  function sendHeld(): void {
    if (isHolding) socketOf(client).uncork()
    isHolding = false
  }

  /** Puts a statement into the flight that is sent with the next one. @returns its place there */
  function add(text: string, parameters: readonly unknown[], isRead: boolean): number {
    const isBound = TRANSACTION_BEGINS.test(text) || TRANSACTION_ENDS.test(text)
    const name = isBound ? text : parameters.length > 0 ? nameOf(text) : undefined
    return unsent.statements.push({ name, text, values: [...parameters], isRead }) - 1
  }

  function sendUnsent(): Promise<QueryResult[]> {
    const { statements, sent } = unsent
    unsent = newFlight()
    sent.resolve(statements.length === 0 ? [] : sendFlight(client, statements))
    return sent.promise
  }

  function sendAlone(text: string, parameters: readonly unknown[]) {
    if (parameters.length === 0) return client.query(text)
    return client.query({ name: nameOf(text), text, values: [...parameters] })
  }

  async function sendAwaited(text: string, parameters: readonly unknown[]) {
    if (isScript(text, parameters)) await sendUnsent()
    if (unsent.statements.length === 0) {
      const answered = sendAlone(text, parameters)
      sendHeld()
      return answered
    }
    const at = add(text, parameters, true)
    const results = await sendUnsent()
    return results[at]!
  }

  /** Sends nothing if the transaction has not begun on the server. */
  async function rollBack() {
    const isUnknown = unsent.statements.some(({ text }) => TRANSACTION_BEGINS.test(text))
    // A caller that reads the answer of one of them would wait for ever.
    unsent.sent.promise.catch(() => {})
    unsent.sent.reject(new Error('The transaction was rolled back before the statement was sent'))
    unsent = newFlight()
    return isUnknown ? UNANSWERED : sendAlone('rollback', [])
  }

  async function sendWithNext(text: string, parameters: readonly unknown[]) {
    if (isInTransaction) {
      const at = add(text, parameters, true)
      const results = await unsent.sent.promise
      return results[at]!
    }
    hold()
    return sendAlone(text, parameters)
  }

  function queryOnce(text: string, parameters: readonly unknown[]) {
    if (text === 'rollback') return rollBack()
    if (parameters.at(-1) === HELD) return sendWithNext(text, parameters.slice(0, -1))
    const isUnawaited = parameters.at(-1) === UNAWAITED
    const isBeginning = TRANSACTION_BEGINS.test(text)
    isInTransaction ||= isBeginning
    if (!isBeginning && !isUnawaited) return sendAwaited(text, parameters)
    add(text, isUnawaited ? parameters.slice(0, -1) : parameters, false)
    return UNANSWERED
  }

  async function query(text: string, parameters: readonly unknown[] = []) {
    // A failed transaction is rolled back; an error of the rollback must not hide the first error.
    if (lost) throw lost
    try {
      const result = await queryOnce(text, parameters)
      if (TRANSACTION_ENDS.test(text)) isInTransaction = false
      return result
    } catch (error) {
      onFailure(error)
      lost = lostConnection(error, { text, isInTransaction })
      if (lost) throw lost
      // A migration changed the columns of a statement that is prepared here; a new connection prepares it again.
      isStale ||= error instanceof Error && error.message.includes('cached plan must not change result type')
      throw error
    }
  }
  return {
    // Kysely's two overloads are a statement and a cursor; cursors are not configured.
    query: query as unknown as PostgresPoolClient['query'],
    release: destroy => client.release(destroy === true || isStale || lost !== null),
  }
}

/** Statements to be sent with the next one, and their results. */
function newFlight() {
  const statements: Statement[] = []
  return { statements, sent: Promise.withResolvers<QueryResult[]>() }
}

/** Whether it may be several statements, which cannot be sent as one that has parameters. */
function isScript(text: string, parameters: readonly unknown[]): boolean {
  return parameters.length === 0 && text.includes(';')
}

/** The types of `pg` do not know it. */
function socketOf(client: PoolClient): Writable {
  return (client as unknown as { connection: { stream: Writable } }).connection.stream
}
