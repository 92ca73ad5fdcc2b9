import {
  COMMON_REASONS,
  IDEMPOTENCY_REASONS,
  type Reason,
  dataSchemaOf,
  isReason,
  reasons,
} from '@waxwing/contract/reasons.ts'
import type { Page } from './page.ts'
import type { OperationSection } from './operations.ts'
import { remedyOf } from './remedies.ts'

const DESCRIPTION = 'Every reason for which the service refuses a request, with what to do about it.'

/** Reasons of more operations than this are listed by section. */
const LISTED_MAX = 12
const COMMON: ReadonlySet<string> = new Set(COMMON_REASONS)
const OF_POSTS: ReadonlySet<string> = new Set(IDEMPOTENCY_REASONS)

/**
 * The page of all reasons, as Markdown: message, what to do, operations, and the pages that mention the reason.
 */
export function reasonsMarkdown(sections: readonly OperationSection[], pages: readonly Page[]): string {
  const names = Object.keys(reasons).filter(isReason).toSorted()
  return [
    `# Reasons\n\n${DESCRIPTION}`,
    'An error is a JSON object with a `code`, which is one of these reasons. Decide by it; its `message` is for people, and may change. [Errors](errors.md) describes the shape. New reasons may be added, so handle an unknown one by its status.',
    '## Errors',
    `Every operation with a credential may answer ${listed(COMMON_REASONS)}; every POST may answer ${listed(IDEMPOTENCY_REASONS)}, too.`,
    ...names.map(name => reasonMarkdown(name, sections, pages)),
  ].join('\n\n')
}

function reasonMarkdown(name: Reason, sections: readonly OperationSection[], pages: readonly Page[]): string {
  const { status, message } = reasons[name]
  const mentioned = pages.filter(({ markdown }) => markdown.includes(`\`${name}\``))
  return [
    `## ${name}`,
    `${status}: ${message}`,
    `**What to do:** ${remedyOf(name, status)}`,
    dataSchemaOf(name) ? 'The error has `data`: see [errors](errors.md#what-data-contains).' : '',
    `**Operations:** ${operationsOf(name, sections)}`,
    mentioned.length > 0
      ? `**Explained in:** ${mentioned.map(({ title, path }) => `[${title}](${path})`).join(', ')}`
      : '',
  ]
    .filter(part => part !== '')
    .join('\n\n')
}

function operationsOf(name: Reason, sections: readonly OperationSection[]): string {
  if (COMMON.has(name)) return 'every operation with a credential.'
  if (OF_POSTS.has(name)) return 'every POST with a credential.'
  const found = sections.flatMap(({ path, title, routes }) =>
    routes
      .filter(({ operation }) => operation['x-error-reasons'].includes(name))
      .map(({ operation: { operationId } }) => ({ operationId, path, title })),
  )
  if (found.length === 0) return 'none of this version.'
  if (found.length <= LISTED_MAX)
    return found.map(({ operationId, path }) => `[${operationId}](${path}#${operationId})`).join(', ')
  const bySection = Map.groupBy(found, ({ path }) => path)
  return [...bySection].map(([path, some]) => `[${some[0]?.title}](${path}) (${some.length})`).join(', ')
}

function listed(names: readonly string[]): string {
  return names.map(name => `[${name}](#${name})`).join(', ')
}
