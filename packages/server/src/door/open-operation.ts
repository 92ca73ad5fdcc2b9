import { type AnyProcedure, Procedure, call as callProcedure } from '@orpc/server'
import type { HostedSessionKind, OperationMeta } from '@waxwing/contract/operation.ts'
import type { CursorCodec } from '../database/page.ts'
import type { Db } from '../database/pool.ts'
import type { Waker } from '../database/wake.ts'
import type { AnswerHeaders, RequestContext } from '../features/context.ts'
import type { HostedSessions } from '../features/hosted-session.ts'
import type { Authenticator, Identity } from '../features/tenancy/credentials/authenticate.ts'
import type { FailureBrake } from '../features/tenancy/credentials/failure-brake.ts'
import { refuse } from '../features/refuse.ts'
import { newId } from '../kit/ids.ts'
import type { Logger } from '../kit/log.ts'
import { type Performed, answerOnce } from './answer-once.ts'
import { authenticateCall } from './authenticate-call.ts'
import type { Admission, Answer, Call, GivenInput } from './call.ts'
import { openCommits } from './commits.ts'
import { type HostedWindows, identifyHosted } from './hosted-sessions.ts'
import type { Claim, IdempotencyKeys } from './idempotency.ts'
import { IN_FLIGHT_RETRY_SECONDS, type InFlight } from './in-flight.ts'
import { requirePermission } from './permissions.ts'
import { type Count, type WindowStore, countCall, refuseSpent } from './rate-windows.ts'
import { readOnly } from './read-only.ts'
import { refusalOf } from './refusals.ts'

/** The dependencies for admitting and running calls. */
export interface Door {
  db: Db
  cursors: CursorCodec
  log: Logger
  authenticator: Authenticator
  brake: FailureBrake
  /** Finds the sessions of hosted operations, by their kind. */
  hostedSessions: Partial<Record<HostedSessionKind, HostedSessions>>
  hostedWindows: HostedWindows
  windows: WindowStore
  inFlight: InFlight
  idempotencyKeys: IdempotencyKeys
  wake: Waker['wake']
  /**
   * Whether answers are checked against the contract, handlers against the rules of `Commits`, and undeclared reasons
   * are treated as faults. For tests and development: in production, checking an answer would cost a read as much as
   * its SQL.
   */
  isStrict: boolean
}

/** An operation as the surfaces call it. */
export interface OpenOperation {
  meta: OperationMeta
  /** Decides who calls and whether they may call now. Needs none of the input. */
  admit(call: Call): Promise<Admission>
}

/**
 * Opens an operation for calls by any surface. Runs the checks in the order that the interface promises, then the
 * handler.
 */
export function openOperation(declared: AnyProcedure, door: Door): OpenOperation {
  const procedure = door.isStrict ? declared : withoutOutputCheck(declared)
  const meta: OperationMeta = declared['~orpc'].meta
  const takesKey = meta.method === 'POST' && meta.session === null
  const identify = identifierOf(meta, door)
  const isGuarded = door.isStrict && meta.method !== 'GET'
  const db = isGuarded ? door.db.withPlugin(readOnly) : door.db

  const refusing = (requestId: string) => (error: unknown) =>
    refusalOf(error, { meta, requestId, isStrict: door.isStrict, log: door.log })

  async function admit(call: Call): Promise<Admission> {
    let end = () => {}
    let rate: Count | null = null
    const toRefusal = refusing(call.requestId)
    try {
      const identity = await identify(call)
      refuseSpent(door.windows, identity)
      end = enter(identity.credential.id)
      requirePermission(meta, identity.credential, call.params['accountId'])
      if (identity.rates) {
        rate = await countCall(door.windows, identity)
        if (rate?.isAccepted === false)
          refuse('rate_limited', undefined, { retryAfterSeconds: rate.resetSeconds })
      }
      return {
        outcome: 'admitted',
        tenantId: identity.tenantId,
        rate,
        end,
        run: given =>
          run(call, identity, given).catch((error: unknown) => ({
            outcome: 'refused',
            refusal: toRefusal(error),
          })),
        refusalOf: toRefusal,
      }
    } catch (error) {
      return { outcome: 'refused', refusal: toRefusal(error), rate, end }
    }
  }

  function enter(credentialId: string): () => void {
    return (
      door.inFlight.enter(credentialId) ??
      refuse('too_many_requests', undefined, { retryAfterSeconds: IN_FLIGHT_RETRY_SECONDS })
    )
  }

  async function run(call: Call, identity: Identity, given: GivenInput): Promise<Answer> {
    if (!takesKey || given.key === null) {
      const { output, headers } = await perform(call, identity, given, null)
      return { outcome: 'done', output, headers }
    }
    return answerOnce(
      door.idempotencyKeys,
      { meta, identity, accountId: call.params['accountId'], key: given.key },
      { perform: claim => perform(call, identity, given, claim), refusalOf: refusing(call.requestId) },
    )
  }

  async function perform(
    { requestId, params, ifMatch }: Call,
    { tenantId, credential }: Identity,
    given: GivenInput,
    claim: Claim | null,
  ): Promise<Performed> {
    const { query, body } = given.readInput()
    const answerHeaders: AnswerHeaders = {}
    const commits = openCommits({ db: door.db, tenantId, wake: door.wake, meta, answerHeaders, claim })
    const { change, step } = commits
    const { cursors, log } = door
    const context: RequestContext = {
      db,
      tenantId,
      credential,
      requestId,
      cursors,
      log,
      answerHeaders,
      ifMatch: meta.isConditional ? ifMatch : null,
      attempt: claim?.attempt ?? { id: newId(), isResumed: false },
      change,
      step,
    }
    const output: unknown = await callProcedure(procedure, { params, query, body }, { context })
    if (door.isStrict) commits.requireKept(output)
    return { output, headers: answerHeaders, keptText: commits.keptText }
  }

  return { meta, admit }
}

/** Returns how to find the identity of a call: by its credential, or by the session of a hosted operation. */
function identifierOf(meta: OperationMeta, door: Door): (call: Call) => Promise<Identity> {
  const { session: kind, scope, path } = meta
  if (kind === null) {
    if (scope === 'none') throw new Error(`${path}: an operation without a credential needs a session`)
    return call => authenticateCall(door, call)
  }
  const sessions = door.hostedSessions[kind]
  if (!sessions) throw new Error(`${path}: no wing finds sessions of the kind ${kind}`)
  return call => identifyHosted({ sessions, windows: door.hostedWindows }, kind, call)
}

/** Skips oRPC's check of the output: oRPC compares this index with that of each step, and nothing equals NaN. */
function withoutOutputCheck(procedure: AnyProcedure): AnyProcedure {
  return new Procedure({ ...procedure['~orpc'], outputValidationIndex: Number.NaN })
}
