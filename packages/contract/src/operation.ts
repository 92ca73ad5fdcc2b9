import { ContractProcedure } from '@orpc/contract'
import { z } from 'zod'
import {
  COMMON_REASONS,
  type CommonReason,
  HOSTED_REASONS,
  IDEMPOTENCY_REASONS,
  type Reason,
  type ReasonData,
  dataSchemaOf,
  reasons,
} from './reasons.ts'

export const SCOPES = ['read', 'write', 'send', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

/** Parts of the service that a plan includes or leaves out; mail is always included. */
export type Module = 'calendar' | 'contacts' | 'tracking' | 'ai' | 'meetings' | 'sharedMailboxes'

/** The name of an operation in the audit log: the resource and a verb, such as `account.update`. */
export type AuditAction = `${string}.${string}`

/** The name of an id in the audit log, as paths name it, such as `accountId`. */
export type TargetName = `${string}Id`

/** The sessions whose token a hosted operation takes as the parameter `token` of its path, in place of a credential. */
export type HostedSessionKind = 'connect_session' | 'meeting_connect_session'

/** The maximum request body of an operation that does not declare another limit. */
export const BODY_BYTES_MAX = 2 * 1024 * 1024
/** Maximum values in the body of such an operation, including lists and objects. */
export const BODY_VALUES_MAX = 10_000

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Shape = z.ZodObject
// oxlint-disable-next-line typescript/no-empty-object-type -- the shape of an object without fields
type NoFields = z.ZodObject<{}, z.core.$strict>

/** The facts about an operation that the door, its surfaces and the OpenAPI document need. */
export interface OperationMeta {
  method: Method
  /** With parameters in braces, such as `/v1/accounts/{accountId}`. */
  path: `/v1/${string}`
  /** `none`: the operation is hosted, and takes the token of a session instead of a credential. */
  scope: Scope | 'none'
  /** The session of a hosted operation; null for all others. */
  session: HostedSessionKind | null
  /** Whether a token of the account in the path may call the operation. */
  accountToken: boolean
  /** The module that the tenant's plan must include; null if every plan allows the operation. */
  module: Module | null
  /** The name of a call in the audit log; null if calls leave no row there. */
  audit: AuditAction | null
  /** The ids in the path, which the audit log names: UUIDs, or words such as the id of a suppression list. */
  targets: Readonly<Record<TargetName, 'uuid' | 'word'>>
  /** The name under which the audit log has the id of what a call made; null if it makes nothing that has an id. */
  makes: TargetName | null
  /** Maximum size of the request body. */
  bodyBytesMax: number
  /** Maximum values in the request body, including lists and objects. */
  bodyValuesMax: number
  /** Every reason that the operation may answer, the common ones included. */
  reasons: readonly Reason[]
  successStatus: number
  /** The media type of an answer that is a `Download` or an `EventStream`; null for JSON. */
  produces: string | null
  /** Whether the call may have a header `If-Match`. Operations that are not conditional ignore it. */
  isConditional: boolean
  /** Whether answers may have a header `ETag`. */
  hasEtag: boolean
  /** Whether a call costs much and can wait, so that it is refused before others while the service is overloaded. */
  isShedFirst: boolean
}

/** Whether calls may have a header `Idempotency-Key`: those of every POST that takes a credential, which the keys belong to. */
export function takesIdempotencyKey({ method, session }: OperationMeta): boolean {
  return method === 'POST' && session === null
}

type Declared<R extends Reason> = {
  [K in R | CommonReason]: K extends keyof ReasonData
    ? { status: number; message: string; data: z.ZodType<ReasonData[K]> }
    : { status: number; message: string }
}

/** An audit action is required unless the method is GET or the scope is `read`. */
type Audited<M extends Method, S extends Scope | 'none'> = M extends 'GET'
  ? { audit?: AuditAction }
  : S extends 'read'
    ? { audit?: AuditAction }
    : { audit: AuditAction }

/** An operation that creates says what it makes, or that this has no id. */
type Making<A extends AuditAction> = A extends `${string}.create`
  ? { makes: TargetName | null }
  : { makes?: TargetName }

/** A hosted operation names its session; no other operation has one. */
type Hosted<S extends Scope | 'none'> = S extends 'none'
  ? { session: HostedSessionKind; accountToken?: never }
  : { session?: never; accountToken?: boolean }

type Input<P extends Shape, Q extends Shape, B extends Shape> = z.ZodObject<
  { params: P; query: Q; body: B },
  z.core.$strict
>

export type Operation<
  P extends Shape = Shape,
  Q extends Shape = Shape,
  B extends Shape = Shape,
  O extends z.ZodType = z.ZodType,
  R extends Reason = Reason,
> = ContractProcedure<Input<P, Q, B>, O, Declared<R>, OperationMeta>

/**
 * Declares one operation of the interface. A contract file exports an object of them:
 *
 * ```ts
 * export const accounts = {
 *   update: operation({
 *     method: 'PATCH',
 *     path: '/v1/accounts/{accountId}',
 *     scope: 'write',
 *     audit: 'account.update',
 *     summary: 'Change an account.',
 *     refuses: ['account_not_found', 'account_reauth_required'],
 *     params: z.strictObject({ accountId: pathId }),
 *     body: z.strictObject({ externalRef: text({ max: 255 }).nullish() }),
 *     output: account,
 *   }),
 * }
 * ```
 *
 * - The handler reads `input.params`, `input.query` and `input.body`; a part that is not declared is an empty object.
 *   It returns the answer's body as `output` describes it (`z.null()` for "returns null").
 * - `params`, `query` and `body` must be strict objects, so that unknown keys are refused by their path. Names in
 *   `params` are those in the braces of `path`, typed `pathId`: a malformed one is the resource's 404.
 *   Query values arrive as strings: use `queryBoolean`, `queryInteger`, `queryList`, `timestampInput`, `pageLimit` and
 *   `cursor` of shapes.ts.
 * - If the caller sends no body, it reads as `{}`.
 * - `refuses` lists the operation's own reasons; those that any operation (and any POST) can answer are added.
 * - `audit` names the call in the audit log. It is required unless the method is GET or the scope is `read`.
 * - `makes` is the name of the created id in the audit log. The id is the `id` of the answer, unless the handler names
 *   another one with `context.target`. Ids in the path are named there anyway.
 * - `accountToken` lets a token of the account in the path call the operation; the default is false.
 * - `module` names the module that the tenant's plan must include; `plan_module_unavailable` is added to the reasons.
 * - `bodyBytesMax` and `bodyValuesMax` are larger bounds of the body.
 * - `scope: 'none'` declares a hosted operation. `session` then names the kind of session that it belongs to, and
 *   `params` has a `token` of it.
 * - `successStatus` defaults to 200.
 * - `produces` names the media type of a `download`, or is `EVENT_STREAM`: an answer that is not JSON.
 * - `isShedFirst` marks an operation that costs much and can wait: an overloaded service refuses it before others.
 * - `isConditional` lets the call have a header `If-Match`, and `hasEtag` the answer a header `ETag`.
 *
 * The result goes to `implement(contract.accounts).$context<RequestContext>()`.
 */
export function operation<
  O extends z.ZodType,
  const R extends Reason = never,
  P extends Shape = NoFields,
  Q extends Shape = NoFields,
  B extends Shape = NoFields,
  const M extends Method = Method,
  const S extends Scope | 'none' = Scope | 'none',
  const A extends AuditAction = AuditAction,
>(
  declaration: {
    method: M
    path: `/v1/${string}`
    scope: S
    audit?: A
    summary: string
    description?: string
    refuses?: readonly R[]
    params?: P
    query?: Q
    body?: B
    output: O
    successStatus?: number
    produces?: string
    module?: Module
    bodyBytesMax?: number
    bodyValuesMax?: number
    isConditional?: boolean
    hasEtag?: boolean
    isShedFirst?: boolean
  } & Audited<M, S> &
    Making<NoInfer<A>> &
    Hosted<S>,
): Operation<P, Q, B, O, R> {
  const { method, path, scope, summary, description, params, query, body } = declaration
  const { session = null, accountToken = false, module = null, audit = null, makes = null } = declaration
  const successStatus = declaration.successStatus ?? 200
  const ofModule = module === null ? [] : (['plan_module_unavailable'] as const)
  const declared = reasonsOf(method, session, [...(declaration.refuses ?? []), ...ofModule])
  if (accountToken && !/^\/v1\/accounts\/\{accountId\}(?:\/|$)/.test(path)) {
    throw new Error(`${path}: an account token reaches only what lies under its account`)
  }
  if (session && !path.includes('/{token}')) throw new Error(`${path}: a hosted operation needs {token}`)
  const input = z.strictObject({
    params: params ?? NO_FIELDS,
    query: query ?? NO_FIELDS,
    body: body ?? NO_FIELDS,
  })
  return new ContractProcedure({
    meta: {
      method,
      path,
      scope,
      session,
      accountToken,
      module,
      audit,
      targets: targetsOf(params),
      makes,
      bodyBytesMax: declaration.bodyBytesMax ?? BODY_BYTES_MAX,
      bodyValuesMax: declaration.bodyValuesMax ?? BODY_VALUES_MAX,
      reasons: declared,
      successStatus,
      produces: declaration.produces ?? null,
      isConditional: declaration.isConditional ?? false,
      hasEtag: declaration.hasEtag ?? false,
      isShedFirst: declaration.isShedFirst ?? false,
    },
    route: { method, path, summary, description, successStatus, inputStructure: 'detailed' },
    // The defaults above stand for the type parameters' defaults, which TypeScript cannot see.
    inputSchema: input as unknown as Input<P, Q, B>,
    outputSchema: declaration.output,
    errorMap: Object.fromEntries(declared.map(declareReason)) as unknown as Declared<R>,
  })
}

const NO_FIELDS = z.strictObject({})

function targetsOf(params: Shape = NO_FIELDS): OperationMeta['targets'] {
  const ids = Object.entries(params.shape).filter(([name]) => name.endsWith('Id'))
  return Object.fromEntries(
    ids.map(([name, schema]) => [
      name,
      z.globalRegistry.get(schema)?.['format'] === 'uuid' ? 'uuid' : 'word',
    ]),
  )
}

function reasonsOf(method: Method, session: HostedSessionKind | null, own: readonly Reason[]): Reason[] {
  return [...new Set<Reason>([...own, ...commonReasons(method, session)])].toSorted()
}

function commonReasons(method: Method, session: HostedSessionKind | null): readonly Reason[] {
  if (session) return [...HOSTED_REASONS, `${session}_not_found`]
  return method === 'POST' ? [...COMMON_REASONS, ...IDEMPOTENCY_REASONS] : COMMON_REASONS
}

function declareReason(reason: Reason) {
  const { status, message } = reasons[reason]
  const data = dataSchemaOf(reason)
  return [reason, data === undefined ? { status, message } : { status, message, data }] as const
}
