/* Which Handlebars a template may use: `if`, `unless`, `each`, `with` and `lookup`, each as its documentation shows it. */

const BLOCK_HELPERS = new Set(['if', 'unless', 'each', 'with'])
const HELPERS = new Set([...BLOCK_HELPERS, 'lookup'])

type Node = hbs.AST.Node
type Call = Pick<hbs.AST.MustacheStatement, 'path' | 'params' | 'loc'> & { hash?: hbs.AST.Hash | undefined }

/** Thrown if a template uses what is not allowed. The message names it and its place. */
export class SyntaxRefused extends Error {
  override name = 'SyntaxRefused'
}

export interface Size {
  /** Maximum number of blocks and subexpressions within one another. */
  levels: number
  /** Number of statements, bodies of blocks, expressions and parts of paths. */
  nodes: number
}

export function checkSyntax(program: hbs.AST.Program): Size {
  let levelsMax = 0
  let nodes = 0

  function checkProgram(block: hbs.AST.Program | undefined, level: number): void {
    levelsMax = Math.max(levelsMax, level)
    if (block) nodes++
    for (const statement of block?.body ?? []) checkStatement(statement, level)
  }

  function checkStatement(node: Node, level: number): void {
    nodes++
    if (isOf<hbs.AST.MustacheStatement>(node, 'MustacheStatement')) {
      if (isCall(node)) requireLookup(node)
      else if (nameOf(node) !== null && HELPERS.has(nameOf(node)!))
        refuseAt(node, `${nameOf(node)} lacks what it is for`)
      checkArguments(node, level)
    } else if (isOf<hbs.AST.BlockStatement>(node, 'BlockStatement')) {
      checkBlock(node)
      checkArguments(node, level)
      checkProgram(node.program, level + 1)
      // `{{else if …}}` is a block in the inverse, but it reads as the same level.
      const isChained = (node.inverse as { chained?: boolean } | undefined)?.chained === true
      checkProgram(node.inverse, isChained ? level : level + 1)
    } else if (node.type !== 'ContentStatement' && node.type !== 'CommentStatement') {
      refuseAt(
        node,
        node.type.startsWith('Partial') ? 'partials are not allowed' : 'decorators are not allowed',
      )
    }
  }

  function checkArguments({ path, params, hash }: Call, level: number): void {
    nodes += countNodes(path)
    for (const value of [...params, ...(hash?.pairs ?? []).map(pair => pair.value)]) {
      nodes += countNodes(value)
      if (!isOf<hbs.AST.SubExpression>(value, 'SubExpression')) continue
      requireLookup(value)
      levelsMax = Math.max(levelsMax, level + 1)
      checkArguments(value, level + 1)
    }
  }

  checkProgram(program, 0)
  return { levels: levelsMax, nodes }
}

function checkBlock(node: hbs.AST.BlockStatement): void {
  const name = nameOf(node)
  if (!isCall(node)) {
    if (name !== null && HELPERS.has(name)) refuseAt(node, `#${name} lacks what it is for`)
    return
  }
  if (name === null || !BLOCK_HELPERS.has(name)) refuseAt(node, `#${name ?? 'this'} is no helper`)
  if (node.params.length !== 1) refuseAt(node, `#${name} takes one argument`)
}

function requireLookup(node: Call): void {
  const name = nameOf(node)
  if (name !== 'lookup')
    refuseAt(node, `${name ?? 'this'} is no helper${name && HELPERS.has(name) ? ' here' : ''}`)
  if (node.params.length !== 2) refuseAt(node, 'lookup takes two arguments')
}

function isOf<T extends Node>(node: Node, type: T['type']): node is T {
  return node.type === type
}

function countNodes(value: Node): number {
  return isOf<hbs.AST.PathExpression>(value, 'PathExpression') ? 1 + value.parts.length : 1
}

function isCall({ params, hash }: Call): boolean {
  return params.length > 0 || (hash?.pairs.length ?? 0) > 0
}

/** The name by which a helper would be called; null for a path of several parts. */
function nameOf({ path }: Call): string | null {
  if (isOf<hbs.AST.PathExpression>(path, 'PathExpression'))
    return path.parts.length === 1 && !path.data ? path.original : null
  // `{{"if" x}}` calls the helper, too.
  return String((path as hbs.AST.StringLiteral).original)
}

function refuseAt({ loc }: Pick<Node, 'loc'>, message: string): never {
  throw new SyntaxRefused(`Line ${loc.start.line}: ${message}`)
}
