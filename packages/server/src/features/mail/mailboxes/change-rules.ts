import { type AccountKind, abilitiesOf } from '../../../providers/abilities.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { ProviderMailbox } from './store.ts'

/** The name of a mailbox in Unicode's composed form. Refuses `/` where names may not contain it. */
export function requireLevel(kind: AccountKind, name: string): string {
  if (!abilitiesOf(kind).allowsSlash && name.includes('/'))
    refuse('invalid_input', { issues: [{ path: ['name'], message: 'must be one level, so without /' }] })
  return name.normalize('NFC')
}

/** Refuses a parent that holds no mailboxes: labels of the provider's own. */
export function requireHolding(parent: Pick<ProviderMailbox, 'kind' | 'role'>): void {
  if (parent.kind === 'label' && parent.role !== 'custom') refuse('mailbox_parent')
}

/**
 * The new parent of a mailbox: null at the top level, undefined if it stays where it is. Refuses one that is unknown
 * (`unknown_mailbox`), and one that is the mailbox itself, below it, or holds none (`mailbox_parent`).
 * @param all mailboxes of the account
 */
export function requireParent(
  mailbox: Pick<ProviderMailbox, 'id'>,
  parentId: string | null | undefined,
  all: readonly ProviderMailbox[],
): ProviderMailbox | null | undefined {
  if (parentId === undefined || parentId === null) return parentId
  const byId = new Map(all.map(row => [row.id, row]))
  const parent = byId.get(parentId)
  if (!parent) return refuse('unknown_mailbox', { ids: [parentId] })
  requireHolding(parent)
  const passed = new Set<string>()
  for (let above: ProviderMailbox | undefined = parent; above; above = byId.get(above.parent_id ?? '')) {
    if (above.id === mailbox.id) refuse('mailbox_parent')
    if (passed.has(above.id)) break
    passed.add(above.id)
  }
  return parent
}
