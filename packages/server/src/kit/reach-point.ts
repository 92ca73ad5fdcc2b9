/**
 * Called, and awaited, at a named moment of work that must survive the end of the process: a test ends it there. In the
 * service it does nothing.
 * @param id of what is worked on
 */
export type ReachPoint<Point extends string = string> = (point: Point, id: string) => Promise<void> | void

export const passPoints: ReachPoint = () => {}
