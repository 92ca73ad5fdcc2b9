import { setImmediate as nextTurn } from 'node:timers/promises'
import { newId } from '../../../kit/ids.ts'
import type { WorkBudget } from '../../../kit/work-thread.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { refuse } from '../../../calls/refuse.ts'
import { composeWith, type ComposedInParts } from '../compose/compose.ts'
import type { PlannedComposition } from '../compose/composition.ts'
import type { ContentFailure, RenderedContent } from '../compose/render-content.ts'
import type { Params, Rcpt } from '../templates/rules.ts'
import type { PreparedFiles } from '../compose/prepare-files.ts'
import { newInternetMessageId } from '../compose/rules.ts'
import { describe, newSend, refuseContent } from './accept.ts'
import type { WrittenSend } from './new-send.ts'
import { findContentMisfit, isWhole } from './fitting-content.ts'
import { removeContent } from '../outbox/content.ts'
import { type ContentTarget, writeContent, writeDown, writeTail } from './write-content.ts'
import type { WrittenContent, WrittenTail } from './written-content.ts'
import type { InSlices } from '../../../kit/sliced-work.ts'
import type { SendTracker, SendTracking } from '../tracking/track-send.ts'
import { type EntryError, entryError, type PlannedEntry, renderError } from './merge-rules.ts'

/** Messages that are rendered before they are written. */
const BATCH_ENTRIES = 20
/** Others get a turn earlier if the messages take this long. */
const TURN_MS_MAX = 20
/** Contents that wait in memory for the transaction that accepts them. Further contents are written before it. */
const HELD_BYTES_MAX = 8 * 1024 * 1024

/** Time of a thread that the template of a merge may take for all its entries. */
const RENDER_MS_MAX = 60_000

/** The links of all messages of a merge, compressed and sealed. They wait in memory for the transaction. */
const LINKS_BYTES_MAX = 32 * 1024 * 1024

/** Properties that all messages of a merge share. */
export interface Merge {
  id: string
  account: AccountView
  listId: string | null
  templateId: string | null
  undoSendSeconds: number
  composition: Omit<PlannedComposition, 'to' | 'attachments'>
  inSlices: InSlices
  files: PreparedFiles
  /** The recipient of an entry as a template names it, who can leave the list; null without a list. */
  recipientOf(entry: NewEntry): Rcpt | null
  trackerOf(entry: NewEntry): SendTracker
  /** Null if all entries have the content of the composition. */
  render:
    | ((entries: RenderedEntry[], budget: WorkBudget) => Promise<Array<RenderedContent | ContentFailure>>)
    | null
}

type RenderedEntry = { params?: Params | undefined; rcpt?: Rcpt | undefined }

/** A message that an entry becomes. */
export type NewEntry = PlannedEntry & { outboxId: string }

/** The messages of a merge whose contents are written, but not yet bound to entries. */
export class WrittenEntries {
  readonly sends: Array<WrittenSend & { index: number }> = []
  readonly #tails = new Map<string, WrittenTail>()
  /** The bytes before the end of the longest message that the provider took, by the kind of the end. */
  readonly #fitting = new Map<string, number>()
  readonly #merge: Merge
  readonly #target: ContentTarget
  #held: WrittenContent[] = []
  #heldBytes = 0
  #linksBytes = 0
  readonly #renderBudget: WorkBudget = { msLeft: RENDER_MS_MAX }

  constructor(merge: Merge, target: ContentTarget) {
    this.#merge = merge
    this.#target = target
  }

  /**
   * Writes the messages of entries, at most `countMax`, and yields to others in between.
   * @returns why some entries have none, by index
   */
  async write(entries: readonly PlannedEntry[], countMax: number): Promise<Map<number, EntryError>> {
    const errors = new Map<number, EntryError>()
    let at = 0
    let begunAt = performance.now()
    while (at < entries.length && this.sends.length < countMax) {
      const count = Math.min(BATCH_ENTRIES, countMax - this.sends.length)
      const batch = entries.slice(at, at + count).map(entry => {
        const named = { ...entry, outboxId: newId() }
        return { ...named, rcpt: this.#merge.recipientOf(named) ?? undefined }
      })
      at += batch.length
      const contents = await this.#render(batch)
      for (const [nth, content] of contents.entries()) {
        if (performance.now() - begunAt > TURN_MS_MAX) {
          await nextTurn()
          begunAt = performance.now()
        }
        const entry = batch[nth]!
        if ('reason' in content) errors.set(entry.index, content)
        else {
          const error = await this.#writeEntry(entry, content)
          if (error) errors.set(entry.index, error)
        }
      }
    }
    for (const { index } of entries.slice(at)) errors.set(index, entryError('plan_limit_sends'))
    return errors
  }

  async #render(
    batch: ReadonlyArray<NewEntry & RenderedEntry>,
  ): Promise<Array<RenderedContent | EntryError>> {
    const { render, composition } = this.#merge
    if (!render) return batch.map(() => composition)
    if (this.#renderBudget.msLeft <= 0)
      return batch.map(() => ({
        reason: 'template_render_failed',
        message: `The template took over ${RENDER_MS_MAX / 1000} seconds for the entries before.`,
      }))
    const results = await render(
      batch.map(({ params, rcpt }) => ({ params, rcpt })),
      this.#renderBudget,
    )
    return results.map(result => ('failure' in result ? renderError(result) : result))
  }

  /** @returns why the entry has no message; null if it has one */
  async #writeEntry(entry: NewEntry & RenderedEntry, content: RenderedContent): Promise<EntryError | null> {
    const { index, to, reference, sendAt, outboxId: id } = entry
    const { composition, files, inSlices, listId, templateId } = this.#merge
    const tracker = this.#merge.trackerOf(entry)
    const message = {
      ...composition,
      ...content,
      subject: content.subject ?? '',
      to: [to],
      internetMessageId: newInternetMessageId(id, composition.from.address),
      outboxId: id,
      unsubscribeUrl: entry.rcpt?.unsubscribeUrl ?? null,
      wireHtml: tracker.wireHtml,
      draftMark: null,
      // Replaced by the time of the first attempt.
      date: new Date(),
    }
    const composed = await composeWith(message, files, inSlices)
    const tracking = tracker.result()
    this.#countLinks(tracking)
    const written = await this.#writeContent(composed)
    if (!(await this.#isFitting(composed, written))) {
      await this.#remove(written)
      return entryError('attachments_too_large')
    }
    const { id: mailMergeId, undoSendSeconds } = this.#merge
    const options = { sendAt, reference, undoSendSeconds }
    this.sends.push({
      ...newSend(id, message, { templateId, listId, mailMergeId, tracking, options }),
      ...describe(composed, written),
      index,
      content: written,
    })
    return null
  }

  /**
   * Whether the provider takes a message. Files and texts that all messages share are refused for all of them. Files whose
   * places are not noted are the same in all messages, so that a shorter message is taken, too.
   */
  async #isFitting({ layout, tail, open }: ComposedInParts, written: WrittenContent): Promise<boolean> {
    const { account, render } = this.#merge
    const byteLength = written.bytes + (written.tail?.bytes ?? 0)
    if (isWhole(account, byteLength)) return true
    const key = tail?.of ?? 'none'
    if (!layout.parts && written.bytes <= (this.#fitting.get(key) ?? -1)) return true
    const misfit = await findContentMisfit(account, { layout, byteLength, open })
    if (misfit === 'files' || (misfit !== null && !render)) refuse('attachments_too_large')
    if (misfit === null) this.#fitting.set(key, Math.max(written.bytes, this.#fitting.get(key) ?? -1))
    return misfit === null
  }

  /** Removes the content of an entry that gets no message. */
  async #remove(written: WrittenContent): Promise<void> {
    const at = this.#held.indexOf(written)
    if (at >= 0) {
      this.#held.splice(at, 1)
      this.#heldBytes -= written.piece?.length ?? 0
    }
    if (written.piece === null) await this.#target.step(unit => removeContent(unit, [written.id]))
  }

  #countLinks({ links }: SendTracking): void {
    this.#linksBytes += links?.length ?? 0
    if (this.#linksBytes > LINKS_BYTES_MAX)
      refuse('payload_too_large', undefined, {
        message: `The tracked links of all messages exceed ${LINKS_BYTES_MAX / 1024 / 1024} MiB. Send to fewer recipients at once.`,
      })
  }

  async #writeContent({ head, tail, ...whole }: ComposedInParts): Promise<WrittenContent> {
    const end = tail && (this.#tails.get(tail.of) ?? (await this.#writeTail(tail)))
    const content = await writeContent(end ? head : whole, this.#target, end).catch(refuseContent)
    this.#held.push(content)
    this.#heldBytes += content.piece?.length ?? 0
    if (this.#heldBytes > HELD_BYTES_MAX) {
      await writeDown(
        this.#held.filter(({ piece }) => piece !== null),
        this.#target,
      )
      this.#held = []
      this.#heldBytes = 0
    }
    return content
  }

  async #writeTail({ of, open }: NonNullable<ComposedInParts['tail']>): Promise<WrittenTail> {
    const written = await writeTail(open, this.#target).catch(refuseContent)
    this.#tails.set(of, written)
    return written
  }

  /** Ids of the contents that are written, and stay until they are bound or removed, of all entries but these. */
  unboundBut(outboxIds: ReadonlySet<string>): string[] {
    const unbound = this.sends.filter(({ id }) => !outboxIds.has(id))
    const used = new Set(
      this.sends.flatMap(({ id, content }) => (outboxIds.has(id) ? [content.tail?.id] : [])),
    )
    const tails = [...this.#tails.values()].filter(({ id }) => !used.has(id))
    return [
      ...unbound.flatMap(({ content }) => (content.piece === null ? [content.id] : [])),
      ...tails.map(({ id }) => id),
    ]
  }

  /**
   * Removes content of which no entry was made. Once messages may have been accepted, it is not known whether an entry
   * needs their shared content: the sweep removes that later.
   */
  async discard({ mayBeAccepted }: { mayBeAccepted: boolean }): Promise<void> {
    const tails = new Set([...this.#tails.values()].map(({ id }) => id))
    const ids = this.unboundBut(new Set()).filter(id => !mayBeAccepted || !tails.has(id))
    if (ids.length > 0) await this.#target.step(unit => removeContent(unit, ids)).catch(() => {})
  }
}
