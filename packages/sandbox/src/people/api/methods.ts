import { listMethods } from './list.ts'
import type { PeopleMethod } from './method.ts'
import { personMethods } from './persons.ts'
import { writeMethods } from './writes.ts'

/** Every method that this People API has. */
export const METHODS: readonly PeopleMethod[] = [...listMethods, ...personMethods, ...writeMethods]

const RESOURCE = '{+resourceName}'

/** The method of a path below /v1/ and the resource name in it; null if there is none. */
export function findMethod(
  http: string,
  path: string,
): { method: PeopleMethod; resourceName: string } | null {
  for (const method of METHODS) {
    if (method.http !== http) continue
    if (method.path === path) return { method, resourceName: '' }
    if (!method.path.startsWith(RESOURCE)) continue
    const ending = method.path.slice(RESOURCE.length)
    const name = path.endsWith(ending) ? path.slice(0, path.length - ending.length) : ''
    if (/^people\/[A-Za-z0-9]+$/.test(name)) return { method, resourceName: name }
  }
  return null
}
