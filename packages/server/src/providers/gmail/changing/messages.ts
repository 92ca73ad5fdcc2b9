import type { z } from 'zod'
import {
  CHANGED_KEYS_MAX,
  type ChangedBatch,
  type ChangedMessage,
  type FlagChange,
  type MessageSet,
  type MovedBatch,
  type NewLocation,
  type RemovedBatch,
} from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { MessageKey } from '../../mail.ts'
import { BATCH_PARTS_MAX, type GmailApi, type GmailRequest, type PartOutcome, segment } from '../api.ts'
import { ALL_MAIL_KEY, CATEGORIES, flagsOf, mailboxKeysOf, SOURCE } from '../labels.ts'
import { STATE_FIELDS } from '../message.ts'
import { createdSchema, emptySchema, stateSchema } from '../resources.ts'
import { UNITS } from '../units.ts'
import { changingInBatches, type Effect } from './effect.ts'
import { type AccountLabels, readLabels } from './account-labels.ts'

/** Labels that one request may add, and that it may remove (messages.modify). */
const LABELS_PER_REQUEST_MAX = 100

/** Labels by their ids. */
export interface LabelChange {
  add: readonly string[]
  remove: readonly string[]
}

/** `ChangingProvider.changeFlags` on Gmail, where flags and categories are labels. */
export function changeFlags(
  api: GmailApi,
  at: MessageSet,
  change: FlagChange,
): AsyncGenerator<ChangedBatch, void, void> {
  return changingInBatches(api, async function* (effect) {
    const labels = planFlagLabels(change)
    // Gmail keeps no mark of answered or forwarded messages.
    if (labels.add.length + labels.remove.length === 0) return
    yield* modifyAll(api, effect, at, await readLabels(api), () => labels)
  })
}

/** The labels that a change of flags adds and removes. Throws `unsupported` for a category that Gmail lacks. */
export function planFlagLabels(change: FlagChange): LabelChange {
  const add = (change.addCategories ?? []).map(category => {
    const label = labelOfCategory(category)
    if (label === undefined) throw new ProviderFailure('unsupported', `Gmail has no category "${category}".`)
    return label
  })
  const remove = (change.removeCategories ?? []).flatMap(category => labelOfCategory(category) ?? [])
  if (change.isRead !== undefined) (change.isRead ? remove : add).push('UNREAD')
  if (change.isFlagged !== undefined) (change.isFlagged ? add : remove).push('STARRED')
  return { add, remove }
}

function labelOfCategory(category: string): string | undefined {
  return [...CATEGORIES].find(([, name]) => name === category)?.[0]
}

/** `ChangingProvider.changeLabels` on Gmail. */
export function changeLabels(
  api: GmailApi,
  at: MessageSet,
  change: LabelChange,
): AsyncGenerator<ChangedBatch, void, void> {
  return changingInBatches(api, async function* (effect) {
    const labels = await readLabels(api)
    for (const id of [...change.add, ...change.remove]) requireSettable(labels, id)
    yield* modifyAll(api, effect, at, labels, () => change)
  })
}

/**
 * `ChangingProvider.move` on Gmail: the target replaces all labels that act as folders. Moving to All Mail, which is no
 * label, archives.
 */
export function moveMessages(
  api: GmailApi,
  at: MessageSet,
  targetKey: string,
): AsyncGenerator<MovedBatch, void, void> {
  return changingInBatches(api, async function* (effect) {
    const labels = await readLabels(api)
    if (targetKey !== ALL_MAIL_KEY) requireSettable(labels, targetKey)
    const add = targetKey === ALL_MAIL_KEY ? [] : [targetKey]
    const remove = labels.folders.filter(id => id !== targetKey)
    const changes = modifyAll(
      api,
      effect,
      at,
      labels,
      labelIds => ({
        add,
        // One request cannot name all labels of an account that has more.
        remove: labelIds === null ? remove : remove.filter(id => labelIds.includes(id)),
      }),
      { mustRead: remove.length > LABELS_PER_REQUEST_MAX },
    )
    for await (const { changed, gone } of changes) {
      const moved = changed.map(({ key, mailboxKeys }) => ({
        key,
        location: locationOf(key),
        mailboxKeys: mailboxKeys ?? [],
      }))
      yield { moved, gone }
    }
  })
}

/** `ChangingProvider.remove` on Gmail. It needs a permission of its own: `https://mail.google.com/`. */
export function removeMessages(api: GmailApi, at: MessageSet): AsyncGenerator<RemovedBatch, void, void> {
  return changingInBatches(api, async function* (effect) {
    for (const keys of batchesOf(at)) {
      const outcomes = await effect.askAll(
        keys.map(key => ({
          method: 'DELETE' as const,
          path: `messages/${segment(key)}`,
          units: UNITS.messagesDelete,
          schema: emptySchema,
        })),
      )
      const { done: removed, gone, failure } = sortOut(keys, outcomes)
      yield { removed: removed.map(({ key }) => key), gone }
      if (failure) throw failure
    }
  })
}

/** The location of a message, whose key stays valid with any history. */
export function locationOf(key: MessageKey): NewLocation {
  return { source: SOURCE, key, isValidUnder: () => true, firstCursor: null }
}

function requireSettable({ known }: AccountLabels, id: string): void {
  if (id === ALL_MAIL_KEY || id === 'SENT' || id === 'DRAFT')
    throw new ProviderFailure('rejected', 'Gmail alone decides which messages are in this mailbox.')
  if (!known.has(id)) throw new ProviderFailure('not_found', 'Gmail no longer has the label.')
}

/**
 * Changes each message by a request of its own, in batches: messages.batchModify returns neither the labels that a
 * message has then, nor whether there is such a message.
 * @param planFor given the labels that a message has, or null if they were not read
 */
async function* modifyAll(
  api: GmailApi,
  effect: Effect,
  at: MessageSet,
  labels: AccountLabels,
  planFor: (labelIds: readonly string[] | null) => LabelChange,
  { mustRead = false } = {},
): AsyncGenerator<ChangedBatch, void, void> {
  for (const keys of batchesOf(at)) {
    const before = mustRead ? await readStates(api, keys) : null
    const there = keys.filter(key => before === null || before.has(key))
    const plans = new Map(there.map(key => [key, planFor(before?.get(key) ?? null)]))
    // Gmail refuses a change of nothing.
    const asked = there.filter(key => !isEmpty(plans.get(key)))
    const same = there.flatMap(key =>
      isEmpty(plans.get(key)) ? [{ key, value: { labelIds: before?.get(key) ?? [] } }] : [],
    )
    const outcomes = await effect.askAll(asked.map(key => modifying(key, plans.get(key)!)))
    const { done, gone, failure } = sortOut(asked, outcomes)
    const changed = [...same, ...done].map(({ key, value: { labelIds } }): ChangedMessage => ({
      key,
      flags: flagsOf(labelIds),
      mailboxKeys: mailboxKeysOf(labelIds, labels.ignored),
      revision: null,
    }))
    yield { changed, gone: [...gone, ...keys.filter(key => !there.includes(key))] }
    if (failure) throw failure
  }
}

const isEmpty = (change: LabelChange | undefined) => !change || change.add.length + change.remove.length === 0

function modifying(key: string, { add, remove }: LabelChange): GmailRequest<z.infer<typeof createdSchema>> {
  return {
    method: 'POST',
    path: `messages/${segment(key)}/modify`,
    json: { addLabelIds: add, removeLabelIds: remove },
    units: UNITS.messagesModify,
    schema: createdSchema,
  }
}

/** The labels of the messages that are there. */
async function readStates(api: GmailApi, keys: readonly string[]): Promise<Map<string, string[]>> {
  const outcomes = await api.askAll(
    keys.map(key => ({
      path: `messages/${segment(key)}`,
      query: { format: 'minimal', fields: STATE_FIELDS },
      units: UNITS.messagesGet,
      schema: stateSchema,
    })),
  )
  const { done, failure } = sortOut(keys, outcomes)
  if (failure) throw failure
  return new Map(done.map(({ key, value }) => [key, value.labelIds]))
}

/** Sorts the parts of a batch by their outcome. `failure` is the reason why some of them failed. */
export function sortOut<T>(keys: readonly string[], outcomes: ReadonlyArray<PartOutcome<T>>) {
  const done: Array<{ key: string; value: T }> = []
  const gone: string[] = []
  let failure: ProviderFailure | null = null
  for (const [index, key] of keys.entries()) {
    const outcome = outcomes[index]
    if (!outcome) continue
    if (outcome.failure === null) done.push({ key, value: outcome.value })
    else if (outcome.failure.kind === 'not_found') gone.push(key)
    else failure ??= outcome.failure
  }
  return { done, gone, failure }
}

function* batchesOf({ keys }: MessageSet): Generator<string[]> {
  if (keys.length > CHANGED_KEYS_MAX) throw new RangeError(`more than ${CHANGED_KEYS_MAX} keys`)
  // A number is no key of Gmail's, so there is no such message.
  const ids = keys.map(String)
  for (let at = 0; at < ids.length; at += BATCH_PARTS_MAX) yield ids.slice(at, at + BATCH_PARTS_MAX)
}
