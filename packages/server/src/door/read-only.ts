import {
  DeleteQueryNode,
  InsertQueryNode,
  type KyselyPlugin,
  MergeQueryNode,
  type OperationNode,
  RawNode,
  UpdateQueryNode,
} from 'kysely'

const WRITES = /\b(?:insert\s+into|delete\s+from|merge\s+into|(?<!\bfor\s+(?:no\s+key\s+)?)update)\b/i

/**
 * Throws for statements that write. Tests use it to find handlers that write outside `context.change` and
 * `context.step`.
 */
export const readOnly: KyselyPlugin = {
  transformQuery({ node }) {
    if (isWrite(node)) throw new Error('An operation writes through context.change and context.step only')
    return node
  },
  transformResult: ({ result }) => Promise.resolve(result),
}

function isWrite(node: OperationNode): boolean {
  if (RawNode.is(node)) return WRITES.test(node.sqlFragments.join('?'))
  return [InsertQueryNode, UpdateQueryNode, DeleteQueryNode, MergeQueryNode].some(kind => kind.is(node))
}
