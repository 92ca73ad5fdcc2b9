import { ContractProcedure } from '@orpc/contract'
import { z } from 'zod'
import {
  COMMON_REASONS,
  type CommonReason,
  IDEMPOTENCY_REASONS,
  type Reason,
  type ReasonData,
  dataSchemaOf,
  reasons,
} from './reasons.ts'

export const SCOPES = ['read', 'write', 'send', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Shape = z.ZodObject
// oxlint-disable-next-line typescript/no-empty-object-type -- the shape of an object without fields
type NoFields = z.ZodObject<{}, z.core.$strict>

/** What the front door and the OpenAPI document need to know of an operation. */
export interface OperationMeta {
  method: Method
  /** With parameters in braces, such as `/v1/accounts/{accountId}`. */
  path: `/v1/${string}`
  /** `none`: no credential is asked for. */
  scope: Scope | 'none'
  /** Section of the interface specification, which decides what an account token may reach. */
  section: string
  /** Every reason that the operation may answer, the common ones included. */
  reasons: readonly Reason[]
  successStatus: number
  /** The media type of an answer that is a `Download`; null: JSON. */
  produces: string | null
}

type Declared<R extends Reason> = {
  [K in R | CommonReason]: K extends keyof ReasonData
    ? { status: number; message: string; data: z.ZodType<ReasonData[K]> }
    : { status: number; message: string }
}

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
 *     section: '4.1',
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
 * - A body that is left out by the caller reads as `{}`.
 * - `refuses` lists the operation's own reasons; those that any operation (and any POST) can answer are added.
 * - `successStatus` defaults to 200.
 * - `produces` names the media type of a `download`, which is no JSON.
 *
 * The result goes to `implement(contract.accounts).$context<RequestContext>()`.
 */
export function operation<
  O extends z.ZodType,
  const R extends Reason = never,
  P extends Shape = NoFields,
  Q extends Shape = NoFields,
  B extends Shape = NoFields,
>(declaration: {
  method: Method
  path: `/v1/${string}`
  scope: Scope | 'none'
  section: string
  summary: string
  description?: string
  refuses?: readonly R[]
  params?: P
  query?: Q
  body?: B
  output: O
  successStatus?: number
  produces?: string
}): Operation<P, Q, B, O, R> {
  const { method, path, scope, section, summary, description, params, query, body } = declaration
  const successStatus = declaration.successStatus ?? 200
  const declared = reasonsOf(method, declaration.refuses ?? [])
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
      section,
      reasons: declared,
      successStatus,
      produces: declaration.produces ?? null,
    },
    route: { method, path, summary, description, successStatus, inputStructure: 'detailed' },
    // The defaults above stand for the type parameters' defaults, which TypeScript cannot see.
    inputSchema: input as unknown as Input<P, Q, B>,
    outputSchema: declaration.output,
    errorMap: Object.fromEntries(declared.map(declareReason)) as unknown as Declared<R>,
  })
}

const NO_FIELDS = z.strictObject({})

function reasonsOf(method: Method, own: readonly Reason[]): Reason[] {
  const common = method === 'POST' ? [...COMMON_REASONS, ...IDEMPOTENCY_REASONS] : COMMON_REASONS
  return [...new Set<Reason>([...own, ...common])].toSorted()
}

function declareReason(reason: Reason) {
  const { status, message } = reasons[reason]
  const data = dataSchemaOf(reason)
  return [reason, data === undefined ? { status, message } : { status, message, data }] as const
}
