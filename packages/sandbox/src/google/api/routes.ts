/** A method of an API by its verb and path. A segment such as `{id}` is a parameter. */
interface Routed {
  readonly http: string
  readonly path: string
}

export interface Match<Method> {
  method: Method
  /** Parts of the path, decoded, such as `id`. */
  params: Record<string, string>
}

/** Makes the function that finds the method of a path; it returns null if there is none. */
export function openRoutes<Method extends Routed>(
  methods: readonly Method[],
): (http: string, path: string) => Match<Method> | null {
  // Fixed segments come before parameters.
  const routes = Map.groupBy(
    methods
      .map(method => ({ method, segments: method.path.split('/') }))
      .toSorted((a, b) => parameters(a.segments) - parameters(b.segments)),
    ({ method, segments }) => `${method.http} ${segments.length}`,
  )
  return (http, path) => {
    const given = path.split('/').map(segment => decodeSegment(segment))
    for (const { method, segments } of routes.get(`${http} ${given.length}`) ?? []) {
      const params: Record<string, string> = {}
      const fits = segments.every((segment, at) => {
        const value = given[at] as string
        if (!segment.startsWith('{')) return segment === value
        params[segment.slice(1, -1)] = value
        return value !== ''
      })
      if (fits) return { method, params }
    }
    return null
  }
}

function parameters(segments: string[]): number {
  return segments.filter(segment => segment.startsWith('{')).length
}

export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
