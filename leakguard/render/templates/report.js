"use strict";
(() => {
  const data = document.getElementById("charts");
  if (!data || !window.vegaEmbed) return;
  const options = {
    mode: "vega-lite",
    renderer: "svg",
    ast: true, // expressions are interpreted, so that the page needs no eval
    actions: false,
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };
  const choose = (view, fieldset) => {
    const boxes = [...fieldset.querySelectorAll("input")];
    const apply = () => {
      const shown = boxes.filter((box) => box.checked).map((box) => box.value);
      view.signal("shown", shown).runAsync();
    };
    fieldset.addEventListener("change", apply);
  };
  const draw = async (id, spec) => {
    const place = document.getElementById(id);
    const { view } = await window.vegaEmbed(place, spec, options);
    const fieldset = document.querySelector(`fieldset[data-chart="${id}"]`);
    if (fieldset) choose(view, fieldset);
    place.dataset.drawn = "yes";
  };
  for (const [id, spec] of Object.entries(JSON.parse(data.textContent))) draw(id, spec);
})();
