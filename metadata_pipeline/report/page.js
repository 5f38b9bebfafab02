// The page is whole without this: it only shows one cluster at a time, searches, and tells exact values.
(() => {
  const root = document.documentElement, tip = document.getElementById("tip");
  const every = (where, what) => [...where.querySelectorAll(what)];
  root.classList.add("js");

  const show = () => {
    const wanted = location.hash.slice(1);
    for (const one of every(document, ".cluster")) one.classList.toggle("shown", one.id === wanted);
    if (wanted) document.getElementById(wanted)?.scrollIntoView();
  };
  addEventListener("hashchange", show);
  show();

  for (const search of every(document, "input[type=search]"))
    search.addEventListener("input", () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of every(document.getElementById(search.dataset.of), "tbody tr")) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });

  addEventListener("pointermove", (event) => {
    const text = event.target.closest?.("[data-tip]")?.dataset.tip;
    tip.style.display = text ? "block" : "none";
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(0, Math.min(event.clientX + 12, innerWidth - box.width - 4)) + "px";
    tip.style.top = Math.max(0, Math.min(event.clientY + 14, innerHeight - box.height - 4)) + "px";
  });

  const two = (number) => String(number).padStart(2, "0");
  const clock = (ms, span) => {
    const at = new Date(ms), day = two(at.getUTCMonth() + 1) + "-" + two(at.getUTCDate());
    const minute = two(at.getUTCHours()) + ":" + two(at.getUTCMinutes());
    if (span < 6 * 3600000) return minute + ":" + two(at.getUTCSeconds());
    return span < 30 * 86400000 ? day + " " + minute : at.getUTCFullYear() + "-" + day;
  };
  for (const section of every(document, ".cluster")) {
    const [from, to] = every(section, "input[type=range]"), said = section.querySelector(".range");
    if (!from) continue;
    const zoom = () => {
      const low = Math.min(+from.value, +to.value - 1), high = Math.max(+to.value, low + 1);
      const begin = +section.dataset.begin, end = +section.dataset.end, span = (end - begin) * (high - low) / 1000;
      const at = begin + (end - begin) * low / 1000;
      for (const plot of every(section, "svg.plot")) {
        const [width, height] = [+plot.dataset.width, +plot.dataset.height];
        plot.setAttribute("viewBox", `${width * low / 1000} 0 ${width * (high - low) / 1000} ${height}`);
      }
      for (const mark of every(section, "[data-mark]"))
        mark.textContent = clock(at + span * +mark.dataset.mark / 4, span);
      said.textContent = clock(at, span) + " to " + clock(at + span, span);
    };
    from.addEventListener("input", zoom);
    to.addEventListener("input", zoom);
    section.querySelector("button").addEventListener("click", () => {
      from.value = 0;
      to.value = 1000;
      zoom();
    });
  }
})();
