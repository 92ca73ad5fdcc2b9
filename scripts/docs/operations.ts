import type { OpenapiDocument, Tag } from './document.ts'
import type { Route } from './route.ts'

/** A section of the reference: its operations, which have a page of their own. */
export interface OperationSection {
  tag: Tag
  title: string
  path: string
  routes: Route[]
}

export function sectionsOf(document: OpenapiDocument): OperationSection[] {
  return document.tags.map(tag => ({
    tag,
    title: tag['x-displayName'] ?? tag.name,
    path: `/docs/reference/${tag.name}`,
    routes: routesOf(document, tag),
  }))
}

function routesOf(document: OpenapiDocument, { name }: Tag): Route[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.tags.includes(name))
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
}

/** Where each operation is described, by its id. */
export function addressesOf(sections: readonly OperationSection[]): Map<string, string> {
  return new Map(
    sections.flatMap(({ path, routes }) =>
      routes.map(({ operation: { operationId } }) => [operationId, `${path}#${operationId}`]),
    ),
  )
}
