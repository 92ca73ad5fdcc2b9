import { type AnyProcedure, Procedure, call as callProcedure } from '@orpc/server'
import {
  type HostedSessionKind,
  type OperationMeta,
  takesIdempotencyKey,
} from '@waxwing/contract/operation.ts'
import type { CursorCodec } from '../database/page.ts'
import type { Db } from '../database/pool.ts'
import type { Waker } from '../database/wake.ts'
import type { AnswerHeaders, RequestContext } from '../calls/context.ts'
import type { HostedSessions } from '../wing/hosted-session.ts'
import type { LoneRows } from '../features/tenancy/audit-log/lone-rows.ts'
import type { Authenticator, Identity } from '../features/tenancy/credentials/authenticate.ts'
import type { FailureBrake } from '../features/tenancy/credentials/failure-brake.ts'
import type { ApiCalls } from '../features/tenancy/usage/api-calls.ts'
import { type Refusal, refuse } from '../calls/refuse.ts'
import { newId } from '../kit/ids.ts'
import type { Logger } from '../kit/log.ts'
import type { CredentialEnds } from '../features/tenancy/credentials/credential-ends.ts'
import type { CallLimits } from '../limits/calls.ts'
import { IN_FLIGHT_RETRY_SECONDS } from '../limits/in-flight.ts'
import type { Sharing, TenantShares } from '../limits/tenant-shares.ts'
import type { Count } from '../limits/windows.ts'
import { type Performed, answerOnce } from './answer-once.ts'
import { type AuditedCall, auditCall } from './audited-call.ts'
import { authenticateCall } from './authenticate-call.ts'
import type { Admission, Answer, Call, GivenInput } from './call.ts'
import { openCommits } from './commits.ts'
import { type HostedWindows, identifyHosted } from './hosted-sessions.ts'
import type { Claim, IdempotencyKeys } from './idempotency.ts'
import { openLasting } from './lasting-calls.ts'
import { findForbidden } from './permissions.ts'
import { requiringModule } from './require-module.ts'
import { refuseSpent, windowsOf } from './rate-windows.ts'
import { readOnly } from './read-only.ts'
import { refusalOf } from './refusals.ts'

const TENANT_IS_FULL =
  'This tenant has too many requests in progress while others ask. Wait for some to finish, then retry.'

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
  calls: CallLimits
  shares: TenantShares
  /** Ends calls that last with their credentials. */
  credentialEnds: CredentialEnds
  apiCalls: Pick<ApiCalls, 'count'>
  idempotencyKeys: IdempotencyKeys
  loneRows: LoneRows
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
  const meta: OperationMeta = declared['~orpc'].meta
  const checked = meta.module === null ? declared : requiringModule(declared, meta.module)
  const procedure = door.isStrict ? checked : withoutOutputCheck(checked)
  const takesKey = takesIdempotencyKey(meta)
  const identify = identifierOf(meta, door)
  const isGuarded = door.isStrict && meta.method !== 'GET'
  const db = isGuarded ? door.db.withPlugin(readOnly) : door.db

  const refusalFor = (requestId: string) => (error: unknown) =>
    refusalOf(error, { meta, requestId, isStrict: door.isStrict, log: door.log })

  async function admit(call: Call): Promise<Admission> {
    let end = () => {}
    let rate: Count | null = null
    const toRefusal = refusalFor(call.requestId)
    try {
      const identity = await identify(call)
      refuseSpent(door.calls, identity)
      const sharing = door.shares.enter(identity.tenantId) ?? refuseTooMany(TENANT_IS_FULL)
      end = sharing.end
      const forbidden = findForbidden(meta, identity.credential, call.params['accountId'])
      // A forbidden call counts as in progress, but on no window.
      const begun = await door.calls.begin(identity.credential.id, forbidden ? [] : windowsOf(identity))
      end = () => {
        begun.end()
        sharing.end()
      }
      if (begun.isFull) refuseTooMany()
      if (forbidden) throw forbidden
      rate = begun.count
      if (rate?.isAccepted === false)
        refuse('rate_limited', undefined, { retryAfterSeconds: rate.resetSeconds })
      if (meta.scope !== 'none') door.apiCalls.count(identity.tenantId, meta.scope)
      const audited = auditCall(meta, call, identity, door.loneRows)
      const running = { ...call, identity, sharing, audited, refuse: recordingRefusals(audited, toRefusal) }
      return {
        outcome: 'admitted',
        tenantId: identity.tenantId,
        rate,
        end,
        run: given => run(running, given),
        recordRefusal: answer => audited.recordRefusal(answer).then(() => null, toRefusal),
        refusalOf: toRefusal,
      }
    } catch (error) {
      return { outcome: 'refused', refusal: toRefusal(error), rate, end }
    }
  }

  async function run(call: RunningCall, given: GivenInput): Promise<Answer> {
    try {
      if (!takesKey || given.key === null) {
        const { output, headers } = await perform(call, given, null)
        return { outcome: 'done', output, headers }
      }
      return await answerOnce(
        door.idempotencyKeys,
        { meta, identity: call.identity, accountId: call.params['accountId'], key: given.key },
        { perform: claim => perform(call, given, claim), refuse: call.refuse },
      )
    } catch (error) {
      return { outcome: 'refused', refusal: await call.refuse(error) }
    }
  }

  async function perform(call: RunningCall, given: GivenInput, claim: Claim | null): Promise<Performed> {
    const { requestId, client, params, ifMatch, lastEventId, gone, sharing, audited } = call
    const { tenantId, credential } = call.identity
    const { query, body } = given.readInput()
    const answerHeaders: AnswerHeaders = {}
    const commits = openCommits({
      db: door.db,
      tenantId,
      wake: door.wake,
      meta,
      answerHeaders,
      claim,
      audited,
    })
    const { change, step } = commits
    const { cursors, log } = door
    const context: RequestContext = {
      db,
      tenantId,
      credential,
      requestId,
      client,
      cursors,
      log,
      answerHeaders,
      ifMatch: meta.isConditional ? ifMatch : null,
      lastEventId,
      gone,
      ...openLasting({ ends: door.credentialEnds, credential, sharing, gone }),
      attempt: claim?.attempt ?? { id: newId(), isResumed: false },
      target: audited.target,
      change,
      step,
    }
    const output: unknown = await callProcedure(procedure, { params, query, body }, { context })
    if (!commits.isChanged) await audited.recordSuccess(output)
    if (door.isStrict) {
      commits.requireKept(output)
      audited.requireNamed()
    }
    return { output, headers: answerHeaders, keptText: commits.keptText }
  }

  return { meta, admit }
}

/** A call that was admitted. */
interface RunningCall extends Call {
  identity: Identity
  sharing: Sharing
  audited: AuditedCall
  refuse: Refusing
}

function refuseTooMany(message?: string): never {
  const retryAfterSeconds = IN_FLIGHT_RETRY_SECONDS
  return refuse('too_many_requests', undefined, { retryAfterSeconds, ...(message && { message }) })
}

/** Returns the refusal to answer, whose row is in the audit log by then. Never rejects. */
type Refusing = (error: unknown) => Promise<Refusal>

function recordingRefusals(audited: AuditedCall, toRefusal: (error: unknown) => Refusal): Refusing {
  return async error => {
    const refusal = toRefusal(error)
    try {
      await audited.recordRefusal(refusal)
      return refusal
    } catch (failure) {
      const instead = toRefusal(failure)
      // A fault may have had an effect, which the answer must not deny.
      return refusal.status >= 500 ? refusal : instead
    }
  }
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
