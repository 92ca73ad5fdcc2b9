import { ProviderFailure, restate } from '../failure.ts'
import type { AskOptions, GraphApi, GraphRequest, PartOutcome } from './api.ts'
import { isWrite } from './graph-calls.ts'
import { findInbox } from './sharing.ts'

/** Failures that mean one item, or the whole mailbox. */
const AMBIGUOUS = new Set<ProviderFailure['kind']>(['forbidden', 'not_found'])

/**
 * A shared mailbox, as its delegate calls it. Once the delegate may no longer open it, Exchange answers for each message
 * and folder as if that one were gone. So the inbox is asked for before such an answer is believed, and before the first
 * call, since the address may have been given to another mailbox: then `mailbox_gone` is thrown.
 * @param inboxId the id by which the mailbox is known
 */
export function sharedMailboxApi(api: GraphApi, inboxId: string): GraphApi {
  let opening: Promise<void> | null = null
  let isOpened = false

  async function guarded<T>({ urgency }: AskOptions, work: () => Promise<T>): Promise<T> {
    if (!isOpened) {
      opening ??= requireInbox(api, inboxId, urgency).finally(() => {
        opening = null
      })
      await opening
      isOpened = true
    }
    try {
      return await work()
    } catch (error) {
      if (error instanceof ProviderFailure && AMBIGUOUS.has(error.kind))
        await requireInbox(api, inboxId, urgency)
      throw error
    }
  }

  return {
    cloud: api.cloud,
    now: () => api.now(),
    secondsFor: calls => api.secondsFor(calls),
    requireOwn: link => api.requireOwn(link),
    ask: (request, options = {}) => guarded(options, () => api.ask(request, options)),
    askAll: (requests, options = {}) =>
      guarded(options, async () => {
        const outcomes = await api.askAll(requests, options)
        if (outcomes.some(({ failure }) => failure && AMBIGUOUS.has(failure.kind)))
          await requireInbox(api, inboxId, options.urgency).catch((error: unknown) => {
            throw afterChanges(error, { requests, outcomes })
          })
        return outcomes
      }),
    follow: (link, schema, options = {}) => guarded(options, () => api.follow(link, schema, options)),
    stream: (path, options = {}) => guarded(options, () => api.stream(path, options)),
    // None of these is below the mailbox, or answers for it.
    putRange: (uploadUrl, range, options) => api.putRange(uploadUrl, range, options),
    findNextRange: (uploadUrl, options) => api.findNextRange(uploadUrl, options),
    askRoot: (request, options) => api.askRoot(request, options),
  }
}

/** Other parts of the batch may have changed something before the look at the inbox failed. */
function afterChanges(
  error: unknown,
  {
    requests,
    outcomes,
  }: { requests: ReadonlyArray<GraphRequest<unknown>>; outcomes: ReadonlyArray<PartOutcome<unknown>> },
): unknown {
  const mayHaveChanged =
    requests.some(isWrite) && outcomes.some(({ failure }) => failure?.isBeforeAcceptance !== true)
  return mayHaveChanged && error instanceof ProviderFailure
    ? restate(error, { isBeforeAcceptance: false })
    : error
}

async function requireInbox(api: GraphApi, inboxId: string, urgency: AskOptions['urgency']): Promise<void> {
  const inbox = await findInbox(api, urgency === undefined ? {} : { urgency })
  if (inbox.id === inboxId) return
  const isForbidden = inbox.id === null && inbox.status === 403
  throw new ProviderFailure('mailbox_gone', 'The delegate can no longer open the shared mailbox.', {
    reason: isForbidden ? 'provider_forbidden' : 'provider_not_found',
  })
}
