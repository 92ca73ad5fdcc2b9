import { isOfAccount, ProviderFailure, restate } from '../failure.ts'
import { readAnswer } from '../http/answers.ts'
import type { ProviderAnswer } from '../http/provider-calls.ts'
import type { AskOptions, GraphRequest, PartOutcome } from './api.ts'
import { readBatch, writeBatch } from './batch.ts'
import { type GraphCalls, headersOf, isWrite, ROOT_PATH } from './graph-calls.ts'

const BATCH_PATH = `${ROOT_PATH}$batch`
const BATCH_BYTES_MAX = 32 * 1024 * 1024
const FORBIDDEN = 403
/** Once this many parts of a batch found no server, the others are not asked for again. */
const UNAVAILABLE_PARTS_MAX = 2

/** `GraphApi.askAll` for requests without bodies of their own: batches until each request has an outcome. */
export async function askBatch<T>(
  calls: GraphCalls,
  requests: ReadonlyArray<GraphRequest<T>>,
  options: AskOptions,
): Promise<Array<PartOutcome<T>>> {
  const { quota } = calls.options
  await quota.take(requests.length, options.urgency ?? 'prompt')
  const outcomes = new Map<number, PartOutcome<T>>()
  let left = requests.map((_, index) => index)
  let unavailable = 0
  let isRenewed = false
  while (left.length > 0) {
    const asked = left
    const token = await calls.token(options.signal)
    const answers = await sendBatch(
      calls,
      asked.map(index => requests[index]!),
      options,
    )
    if (!isRenewed && [...answers.values()].some(({ status }) => status === FORBIDDEN)) {
      isRenewed = (await calls.findNewer(token, options.signal)) !== null
      // Parts that were refused for want of a permission are asked for again.
      if (isRenewed) for (const [part, { status }] of answers) if (status === FORBIDDEN) answers.delete(part)
      if (isRenewed && answers.size === 0) continue
    }
    for (const [part, answer] of answers) {
      const outcome = outcomeOf(calls, requests[asked[part]!]!, answer)
      if (outcome.failure?.kind === 'unavailable') unavailable += 1
      outcomes.set(asked[part]!, outcome)
    }
    left = asked.filter(index => !outcomes.has(index))
    const last = lastFailure(outcomes)
    if (answers.size === 0)
      throw new ProviderFailure('unavailable', 'Microsoft Graph answered no part of a batch.')
    if (last && (endsBatch(last) || unavailable > UNAVAILABLE_PARTS_MAX)) {
      const failure = restate(last, { isBeforeAcceptance: true })
      for (const index of left) outcomes.set(index, { value: null, failure })
      left = []
    }
  }
  return requests.map((_, index) => outcomes.get(index)!)
}

async function sendBatch<T>(
  calls: GraphCalls,
  requests: ReadonlyArray<GraphRequest<T>>,
  options: AskOptions,
): Promise<Map<number, ProviderAnswer>> {
  using _slot = await calls.options.quota.enter(options.urgency ?? 'prompt', options.signal)
  const parts = requests.map(request => ({
    method: request.method ?? 'GET',
    path: calls.pathOf(request),
    headers: headersOf(request),
    json: request.json,
  }))
  const call = {
    ...calls.callOf(BATCH_PATH, { method: 'POST' }, options),
    headers: { ...headersOf({}), 'content-type': 'application/json' },
    body: writeBatch(parts),
    isRepeatable: !requests.some(isWrite),
    answerBytesMax: BATCH_BYTES_MAX,
  }
  const answer = await calls.whole(call, options)
  if (answer.status !== 200) throw calls.failureOf(answer, !call.isRepeatable)
  return readBatch(answer.content, requests.length)
}

function outcomeOf<T>(calls: GraphCalls, request: GraphRequest<T>, answer: ProviderAnswer): PartOutcome<T> {
  try {
    if (!request.accepts.includes(answer.status)) throw calls.failureOf(answer, isWrite(request))
    return { value: readAnswer('Microsoft Graph', request.schema, answer.content), failure: null }
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    return { value: null, failure: error }
  }
}

/** Whether the other parts of a batch would fail for the same reason. */
function endsBatch(failure: ProviderFailure): boolean {
  return failure.kind === 'throttled' || isOfAccount(failure)
}

function lastFailure(outcomes: ReadonlyMap<number, PartOutcome<unknown>>): ProviderFailure | null {
  return [...outcomes.values()].findLast(({ failure }) => failure !== null)?.failure ?? null
}
