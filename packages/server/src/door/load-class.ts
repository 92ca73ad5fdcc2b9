import type { OperationMeta } from '@waxwing/contract/operation.ts'

/**
 * Which requests are refused first when there is too much to do: what costs much and can wait first, what changes
 * something or sends last, since a refused reader usually comes again by itself.
 */
export type LoadClass = 'costly' | 'read' | 'write'

/** The class of an operation. */
export function loadClassOf({
  method,
  isShedFirst,
}: Pick<OperationMeta, 'method' | 'isShedFirst'>): LoadClass {
  if (isShedFirst) return 'costly'
  return method === 'GET' ? 'read' : 'write'
}
